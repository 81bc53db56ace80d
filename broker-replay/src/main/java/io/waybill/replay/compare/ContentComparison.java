package io.waybill.replay.compare;

import io.waybill.api.Value;
import io.waybill.api.tensor.Tensor;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/**
 * Compares responses: first their bytes, which are usually equal; then, to locate a difference, their values.
 *
 * <p>Thread-safe. <b>Errors.</b> Content that can't be decoded as a value is compared byte by byte.
 */
public final class ContentComparison implements ResponseComparison {

    private final Closeness closeness;
    private final TensorComparison tensors;
    private final ValueComparison values;

    private ContentComparison(Closeness closeness) {
        this.closeness = closeness;
        this.tensors = new TensorComparison(closeness);
        this.values = new ValueComparison(closeness, tensors);
    }

    /**
     * Returns an exact comparison: payloads byte by byte, tensors by dtype, sizes and the bits of their elements,
     * independent of location.
     */
    public static ResponseComparison exact() {
        return new ContentComparison(Closeness.NONE);
    }

    /**
     * Returns a comparison with a tolerance for floating-point and complex numbers, in values and in tensors; NaN
     * equals NaN. All other content is compared like in {@link #exact}, independent of its encoding.
     */
    public static ResponseComparison within(FloatTolerance tolerance) {
        return new ContentComparison(tolerance);
    }

    @Override
    public Optional<String> firstDifference(ComparedResponse recorded, ComparedResponse replayed) {
        if (recorded.type() != replayed.type()) {
            return Optional.of("recorded " + kind(recorded) + ", replayed " + kind(replayed));
        } else if (recorded.isError()) {
            return errors(recorded, replayed);
        }
        boolean isSamePayload = Arrays.equals(recorded.payload(), replayed.payload());
        Optional<String> ofTensors = tensors(recorded.tensors(), replayed.tensors());
        if (isSamePayload && ofTensors.isEmpty()) {
            return Optional.empty();
        }
        Optional<Value> recordedValue = recorded.value();
        Optional<Value> replayedValue = replayed.value();
        if (recordedValue.isEmpty() || replayedValue.isEmpty()) {
            return isSamePayload ? ofTensors : Optional.of("payload: " + bytes(recorded.payload(), replayed.payload()));
        }
        Optional<String> ofValues = values.difference("reply", recordedValue.get(), replayedValue.get());
        if (ofValues.isPresent()) {
            return ofValues;
        } else if (isSamePayload) {
            return ofTensors;
        }
        return closeness == Closeness.NONE
                ? Optional.of("payload: the same values, in another order or otherwise encoded: "
                        + bytes(recorded.payload(), replayed.payload()))
                : Optional.empty();
    }

    private static String kind(ComparedResponse response) {
        return response.isError()
                ? "the error " + response.errorCode() + " " + Excerpt.start(response.errorText())
                : "a response of type " + response.type();
    }

    private static Optional<String> errors(ComparedResponse recorded, ComparedResponse replayed) {
        if (recorded.errorCode() != replayed.errorCode()) {
            return Optional.of("error code: recorded " + recorded.errorCode() + ", replayed " + replayed.errorCode());
        } else if (recorded.errorKind() != replayed.errorKind()) {
            return Optional.of("error kind: recorded " + recorded.errorKind() + ", replayed " + replayed.errorKind());
        } else if (Arrays.equals(recorded.payload(), replayed.payload())) {
            return Optional.empty();
        }
        return Optional.of("error text: " + Excerpt.pair(recorded.errorText(), replayed.errorText()));
    }

    /** Compares tensors in the order of sending. */
    private Optional<String> tensors(List<Tensor> recorded, List<Tensor> replayed) {
        if (recorded.size() != replayed.size()) {
            return Optional.of("tensors: recorded " + recorded.size() + ", replayed " + replayed.size());
        }
        for (int i = 0; i < recorded.size(); i++) {
            Optional<String> difference = tensors.difference("tensor " + i, recorded.get(i), replayed.get(i));
            if (difference.isPresent()) {
                return difference;
            }
        }
        return Optional.empty();
    }

    /** Describes the difference of two arrays. */
    static String bytes(byte[] recorded, byte[] replayed) {
        int at = Arrays.mismatch(recorded, replayed);
        String where = "first other byte at offset " + at + ": recorded " + at(recorded, at) + ", replayed "
                + at(replayed, at);
        return recorded.length == replayed.length
                ? where + ", of " + recorded.length + " bytes"
                : "recorded " + recorded.length + " bytes, replayed " + replayed.length + "; " + where;
    }

    private static String at(byte[] bytes, int offset) {
        return offset < bytes.length ? String.format(Locale.ROOT, "0x%02x", bytes[offset]) : "the end";
    }
}
