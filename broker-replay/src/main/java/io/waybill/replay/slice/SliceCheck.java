package io.waybill.replay.slice;

import io.waybill.api.MessageId;
import io.waybill.api.tensor.Tensor;
import io.waybill.replay.slice.SlicedMessage.Kind;
import io.waybill.replay.slice.SlicedStorage.State;
import io.waybill.tensor.DescribedTensors;
import io.waybill.wire.Envelope;
import io.waybill.wire.MalformedRecordException;
import io.waybill.wire.MessageBuffer;
import io.waybill.wire.RecordView;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** Whether what a slice says of a call fits together. One thread. */
final class SliceCheck {

    private final SliceFile file;
    private final SliceInfo info;
    private final Set<Integer> workers = new HashSet<>();
    private final MessageBuffer requestBuffer = new MessageBuffer();
    private final MessageBuffer answerBuffer = new MessageBuffer();

    SliceCheck(SliceFile file, SliceInfo info) throws MalformedSliceException {
        this.file = file;
        this.info = info;
        for (SliceInfo.Member member : info.workers()) {
            if (!workers.add(member.worker().id())) {
                throw file.malformed(
                        SliceLayout.INFO,
                        "expected each worker once, found " + member.worker().id() + " twice");
            }
        }
    }

    /** Checks a call. Returns its request, until the next one. */
    RecordView check(SlicedCall call) throws MalformedSliceException {
        RecordView request = record(call.request(), requestBuffer);
        int caller = MessageId.worker(request.id());
        require(request.type().isRequest() && request.from() == caller, "a request of worker " + caller, request);
        require(workers.contains(request.from()) && workers.contains(request.to()), "workers of slice.json", request);
        checkStorages(call.request(), request);
        if (call.answer().isPresent()) {
            RecordView answer = record(call.answer().get(), answerBuffer);
            require(
                    answer.type().isResponse()
                            && answer.id() == request.id()
                            && answer.from() == request.to()
                            && answer.to() == request.from(),
                    "the answer to " + MessageId.text(request.id()),
                    answer);
            checkStorages(call.answer().get(), answer);
        }
        return request;
    }

    private RecordView record(SlicedMessage message, MessageBuffer buffer) throws MalformedSliceException {
        if (message.payloads() != info.payloads()) {
            throw new MalformedSliceException(
                    "expected payloads " + info.payloads().text() + " as slice.json says, found "
                            + message.payloads().text());
        }
        buffer.reserve(message.record().length);
        buffer.memory().putBytes(0, message.record());
        RecordView view = new RecordView(buffer);
        try {
            view.check();
        } catch (MalformedRecordException e) {
            throw new MalformedSliceException("expected a record, found that " + e.getMessage(), e);
        }
        return view;
    }

    private static void require(boolean isTrue, String expected, RecordView found) throws MalformedSliceException {
        if (!isTrue) {
            throw new MalformedSliceException("expected " + expected + ", found a " + found.type() + " "
                    + MessageId.text(found.id()) + " from worker " + found.from() + " to worker " + found.to());
        }
    }

    private void checkStorages(SlicedMessage message, RecordView record) throws MalformedSliceException {
        Set<Integer> listed = new HashSet<>();
        for (SlicedStorage storage : message.storages()) {
            if (!listed.add(storage.number()) || storage.number() >= Envelope.MAX_TENSORS) {
                throw new MalformedSliceException("expected each storage of " + MessageId.text(record.id())
                        + " once, found number " + storage.number());
            }
            checkState(message, record, storage);
        }
        if (message.payloads() != Payloads.FULL) {
            return; // its record does not tell any more
        }
        Map<Integer, Long> beside = besideRecord(record);
        if (!listed.equals(beside.keySet())) {
            throw new MalformedSliceException("expected the storages " + beside.keySet() + " of "
                    + MessageId.text(record.id()) + ", found " + listed);
        }
        for (SlicedStorage storage : message.storages()) {
            if (storage.sizeBytes() != beside.get(storage.number())) {
                throw new MalformedSliceException("expected " + beside.get(storage.number()) + " bytes of storage "
                        + storage.number() + " of " + MessageId.text(record.id()) + ", found " + storage.sizeBytes());
            }
        }
    }

    private void checkState(SlicedMessage message, RecordView record, SlicedStorage storage)
            throws MalformedSliceException {
        boolean fits = switch (message.payloads()) {
            case FULL -> storage.state() == State.ENTRY || storage.state() == State.NOT_KEPT;
            case DIGEST -> storage.state() == State.DIGEST || storage.state() == State.NOT_KEPT;
            case NONE -> storage.state() == State.LEFT_OUT;
        };
        Optional<Long> size = storage.state() == State.ENTRY
                ? file.size(SliceLayout.tensorName(record.id(), message.kind(), storage.number()))
                : Optional.of(storage.sizeBytes());
        if (!fits || size.isEmpty() || size.get() != storage.sizeBytes()) {
            throw new MalformedSliceException("expected " + storage.sizeBytes() + " bytes of storage "
                    + storage.number()
                    + " of the " + (message.kind() == Kind.REQUEST ? "request " : "answer to ")
                    + MessageId.text(record.id()) + ", found " + (size.isEmpty() ? "no entry" : size.get() + " bytes")
                    + ", " + storage.state());
        }
    }

    /** The sizes of the storages that do not lie in a record, by their numbers. */
    private static Map<Integer, Long> besideRecord(RecordView record) throws MalformedSliceException {
        Map<Integer, Long> sizes = new HashMap<>();
        try {
            for (Tensor tensor : DescribedTensors.of(record)) {
                if (!DescribedTensors.isInline(tensor)) {
                    sizes.put(
                            DescribedTensors.storageOf(tensor), tensor.storage().sizeBytes());
                }
            }
        } catch (MalformedRecordException e) {
            throw new MalformedSliceException("expected tensors, found that " + e.getMessage(), e);
        }
        return sizes;
    }
}
