package io.waybill.replay.slice;

import io.waybill.api.MessageType;
import io.waybill.query.stored.Payload;
import io.waybill.replay.recording.RecordedCall;
import io.waybill.replay.recording.RecordedMessage;
import io.waybill.replay.slice.SlicedMessage.Kind;
import io.waybill.replay.slice.SlicedStorage.State;
import io.waybill.wire.MessageBuffer;
import io.waybill.wire.RecordView;
import java.io.IOException;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * Compares two slices, call by call: types, operations and the SHA-256 of their contents; times and positions may
 * differ. Either slice may have contents or their digests. One thread.
 */
public final class SliceComparison {

    /** Relation of a call in one slice to the other slice. */
    public enum Relation {
        DIFFERENT,
        ONLY_FIRST,
        ONLY_SECOND
    }

    /**
     * A call that differs between the slices.
     *
     * @param operation operation of a call by name
     * @param text description of the difference; empty for a call that only one slice has
     */
    public record Difference(long id, Optional<String> operation, Relation relation, String text) {}

    /**
     * Totals of a comparison.
     *
     * @param onlyFirst calls that the second slice lacks
     * @param hasContents whether payloads and tensors were compared: both slices have them, or their digests
     */
    public record Sum(long same, long different, long onlyFirst, long onlySecond, boolean hasContents) {

        public boolean isSame() {
            return different == 0 && onlyFirst == 0 && onlySecond == 0;
        }
    }

    /** One slice, whose messages are read with digests in place of their contents. */
    private static final class Side {
        private final SliceRecording slice;
        private final MessageCut cut;
        private final MessageBuffer buffer = new MessageBuffer();

        Side(SliceRecording slice) {
            this.slice = slice;
            this.cut = new MessageCut(Payloads.DIGEST, slice.reader(), (message, kind, record, number, size, crc) -> {
                throw new IllegalStateException("digests have no entries");
            });
        }

        boolean hasContents() {
            return slice.info().payloads() != Payloads.NONE;
        }

        SlicedMessage digests(RecordedMessage message) throws IOException {
            Kind kind = SliceReader.kind(message);
            return slice.info().payloads() == Payloads.FULL
                    ? cut.cut(message, kind)
                    : slice.reader().message(message.id(), kind).orElseThrow();
        }

        RecordView view(RecordedMessage message) {
            return message.in(buffer);
        }
    }

    private final Side first;
    private final Side second;
    private final boolean hasContents;

    private SliceComparison(SliceRecording first, SliceRecording second) {
        this.first = new Side(first);
        this.second = new Side(second);
        this.hasContents = this.first.hasContents() && this.second.hasContents();
    }

    /** Compares two slices; both stay open. */
    public static Sum compare(SliceRecording first, SliceRecording second, Consumer<Difference> sink)
            throws IOException {
        return new SliceComparison(first, second).compare(sink);
    }

    private Sum compare(Consumer<Difference> sink) throws IOException {
        long same = 0;
        long different = 0;
        long onlyFirst = 0;
        for (int i = 0; i < first.slice.index().all().size(); i++) {
            RecordedCall call =
                    first.slice.call(first.slice.index().all().getLong(i)).orElseThrow();
            Optional<RecordedCall> other = second.slice.call(call.id());
            Optional<String> difference = other.isEmpty() ? Optional.empty() : difference(call, other.get());
            if (other.isEmpty()) {
                onlyFirst++;
                sink.accept(new Difference(call.id(), operation(first, call), Relation.ONLY_FIRST, ""));
            } else if (difference.isPresent()) {
                different++;
                sink.accept(new Difference(call.id(), operation(first, call), Relation.DIFFERENT, difference.get()));
            } else {
                same++;
            }
        }
        return new Sum(same, different, onlyFirst, onlySecond(sink), hasContents);
    }

    private long onlySecond(Consumer<Difference> sink) throws IOException {
        long only = 0;
        for (int i = 0; i < second.slice.index().all().size(); i++) {
            long id = second.slice.index().all().getLong(i);
            if (first.slice.index().find(id).isEmpty()) {
                only++;
                RecordedCall call = second.slice.call(id).orElseThrow();
                sink.accept(new Difference(id, operation(second, call), Relation.ONLY_SECOND, ""));
            }
        }
        return only;
    }

    private static Optional<String> operation(Side side, RecordedCall call) {
        return Payload.operationOf(side.view(call.request()));
    }

    private Optional<String> difference(RecordedCall one, RecordedCall other) throws IOException {
        Optional<String> ofRequests = difference("request", one.request(), other.request());
        if (ofRequests.isPresent()) {
            return ofRequests;
        } else if (one.response().isEmpty() && other.response().isEmpty()) {
            return Optional.empty();
        } else if (one.response().isEmpty() || other.response().isEmpty()) {
            return Optional.of("response: none in the " + (one.response().isEmpty() ? "first" : "second") + " slice");
        }
        return difference("response", one.response().get(), other.response().get());
    }

    private Optional<String> difference(String what, RecordedMessage one, RecordedMessage other) throws IOException {
        RecordView left = first.view(one);
        RecordView right = second.view(other);
        if (!kind(left).equals(kind(right))) {
            return Optional.of(what + ": " + kind(left) + ", and " + kind(right));
        } else if (left.from() != right.from() || left.to() != right.to()) {
            return Optional.of(what + ": from worker " + left.from() + " to " + left.to() + ", and from " + right.from()
                    + " to " + right.to());
        } else if (!hasContents) {
            return Optional.empty();
        }
        SlicedMessage ours = first.digests(one);
        SlicedMessage theirs = second.digests(other);
        return Arrays.equals(ours.digest(), theirs.digest())
                ? storages(ours, theirs).map(text -> what + ": " + text)
                : Optional.of(what + ": another payload");
    }

    /** Describes a message for a reader: its type, and the operation or the error. */
    private static String kind(RecordView record) {
        String detail = record.type() == MessageType.EXCEPTION
                ? record.errorCode().name()
                : Payload.operationOf(record).orElse("");
        return (record.type().name() + " " + detail).strip();
    }

    private static Optional<String> storages(SlicedMessage one, SlicedMessage other) {
        Map<Integer, SlicedStorage> others = new HashMap<>();
        other.storages().forEach(storage -> others.put(storage.number(), storage));
        for (SlicedStorage storage : one.storages()) {
            SlicedStorage same = others.remove(storage.number());
            if (same == null) {
                return Optional.of("storage " + storage.number() + ": none in the second slice");
            } else if (storage.state() != same.state()) {
                boolean isFirst = storage.state() == State.NOT_KEPT;
                return Optional.of("storage " + storage.number() + ": not kept in the "
                        + (isFirst ? "first slice: " + storage.reason() : "second slice: " + same.reason()));
            } else if (!Arrays.equals(storage.digest(), same.digest()) || storage.sizeBytes() != same.sizeBytes()) {
                return Optional.of("storage " + storage.number() + ": other bytes");
            }
        }
        return others.isEmpty()
                ? Optional.empty()
                : Optional.of("storage " + others.keySet().iterator().next() + ": none in the first slice");
    }
}
