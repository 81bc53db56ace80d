package io.waybill.replay.compare;

import io.waybill.api.tensor.Tensor;
import io.waybill.query.stored.ValueLine;
import io.waybill.tensor.memory.Element;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Locale;
import java.util.Optional;

/**
 * Compares the elements of two tensors of one dtype and the same sizes, in row-major order, in place. For one
 * comparison, on one thread.
 */
final class ElementComparison {

    private static final int PIECE_BYTES = 1 << 16;
    private static final long NO_ELEMENT = -1;

    private final Tensor recorded;
    private final Tensor replayed;
    private final Closeness closeness;
    private final StorageWindow recordedBytes;
    private final StorageWindow replayedBytes;
    private final int elementBytes;
    private final long run; // number of elements that are contiguous in both
    private long first = NO_ELEMENT; // number of the first difference, in row-major order
    private long differing;

    ElementComparison(Tensor recorded, Tensor replayed, Closeness closeness) {
        this.recorded = recorded;
        this.replayed = replayed;
        this.closeness = closeness;
        recordedBytes = new StorageWindow(recorded.storage());
        replayedBytes = new StorageWindow(replayed.storage());
        elementBytes = recorded.dtype().sizeBytes();
        run = run(recorded, replayed);
    }

    private static long run(Tensor one, Tensor other) {
        long run = 1;
        for (int i = one.dimensions() - 1; i >= 0; i--) {
            if (one.size(i) != 1) {
                if (one.stride(i) != run || other.stride(i) != run) {
                    return run;
                }
                run *= one.size(i);
            }
        }
        return run;
    }

    void compare() {
        int max = PIECE_BYTES / elementBytes;
        long count = recorded.elementCount();
        for (long number = 0; number < count; number += run) {
            long one = Element.position(recorded, number);
            long other = Element.position(replayed, number);
            for (long done = 0; done < run; done += max) {
                comparePiece(number + done, one + done, other + done, (int) Math.min(max, run - done));
            }
        }
    }

    private void comparePiece(long number, long recordedLocation, long replayedLocation, int elements) {
        int done = 0;
        while (done < elements) {
            int bytes = (elements - done) * elementBytes;
            ByteBuffer one = recordedBytes.at((recordedLocation + done) * elementBytes, bytes);
            ByteBuffer other = replayedBytes.at((replayedLocation + done) * elementBytes, bytes);
            int mismatch = one.mismatch(other);
            if (mismatch < 0) {
                return;
            }
            done += mismatch / elementBytes;
            if (!isClose(recordedLocation + done, replayedLocation + done)) {
                first = first == NO_ELEMENT ? number + done : first;
                differing++;
            }
            done++;
        }
    }

    private boolean isClose(long recordedLocation, long replayedLocation) {
        if (closeness == Closeness.NONE) {
            return false;
        }
        Object one = Element.at(recorded, recordedLocation);
        Object other = Element.at(replayed, replayedLocation);
        if (one instanceof double[] complex && other instanceof double[] otherComplex) {
            return closeness.isClose(complex[0], complex[1], otherComplex[0], otherComplex[1]);
        }
        boolean isReal = one instanceof Float || one instanceof Double;
        return isReal && closeness.isClose(((Number) one).doubleValue(), ((Number) other).doubleValue());
    }

    /** Returns the first difference, and the number of differences; empty if there is none. */
    Optional<String> difference() {
        if (first == NO_ELEMENT) {
            return Optional.empty();
        }
        long one = Element.position(recorded, first);
        long other = Element.position(replayed, first);
        String recordedText = text(Element.at(recorded, one));
        String replayedText = text(Element.at(replayed, other));
        if (recordedText.equals(replayedText)) {
            recordedText += bits(recordedBytes, one);
            replayedText += bits(replayedBytes, other);
        }
        String at = recorded.dimensions() == 0 ? "" : " at " + Arrays.toString(coordinates(first));
        return Optional.of(ValueLine.kind(recorded) + at + ": recorded " + recordedText + ", replayed " + replayedText
                + " (differs in " + differing + " of " + recorded.elementCount() + " elements)");
    }

    private long[] coordinates(long number) {
        long[] coordinates = recorded.sizes();
        long rest = number;
        for (int i = coordinates.length - 1; i >= 0; i--) {
            long size = coordinates[i];
            coordinates[i] = rest % size;
            rest /= size;
        }
        return coordinates;
    }

    private static String text(Object element) {
        if (element instanceof Boolean bool) {
            return bool ? "True" : "False";
        } else if (element instanceof double[] complex) {
            return complex[0] + (complex[1] < 0 ? "" : "+") + complex[1] + "j";
        }
        return element.toString();
    }

    /** Formats bits in hexadecimal, the highest byte first. */
    private String bits(StorageWindow bytes, long location) {
        ByteBuffer element = bytes.at(location * elementBytes, elementBytes);
        StringBuilder text = new StringBuilder();
        for (int i = elementBytes - 1; i >= 0; i--) {
            text.append(String.format(Locale.ROOT, "%02x", element.get(element.position() + i)));
        }
        return " (bits 0x" + text + ")";
    }
}
