package io.waybill.replay.slice;

import static io.waybill.replay.slice.MalformedSliceException.require;

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

/** Checks whether the parts of a call in a slice are consistent. One thread. */
final class SliceCheck {

    private final SliceFile file;
    private final SliceInfo info;
    private final Set<Integer> workers = new HashSet<>();
    private final MessageBuffer requestBuffer = new MessageBuffer();
    private final MessageBuffer responseBuffer = new MessageBuffer();

    SliceCheck(SliceFile file, SliceInfo info) throws MalformedSliceException {
        this.file = file;
        this.info = info;
        for (SliceInfo.Member member : info.workers()) {
            int id = member.worker().id();
            file.require(workers.add(id), SliceLayout.INFO, "expected each worker once, found %d twice", id);
        }
    }

    /** Checks a call. Returns its request, until the next one. */
    RecordView check(SlicedCall call) throws MalformedSliceException {
        RecordView request = record(call.request(), requestBuffer);
        int caller = MessageId.worker(request.id());
        requireIs(request.type().isRequest() && request.from() == caller, "a request of worker " + caller, request);
        requireIs(workers.contains(request.from()) && workers.contains(request.to()), "workers of slice.json", request);
        checkStorages(call.request(), request);
        if (call.response().isPresent()) {
            RecordView response = record(call.response().get(), responseBuffer);
            requireIs(
                    response.type().isResponse()
                            && response.id() == request.id()
                            && response.from() == request.to()
                            && response.to() == request.from(),
                    "the response to " + MessageId.text(request.id()),
                    response);
            checkStorages(call.response().get(), response);
        }
        return request;
    }

    private RecordView record(SlicedMessage message, MessageBuffer buffer) throws MalformedSliceException {
        require(
                message.payloads() == info.payloads(),
                "expected payloads %s as slice.json says, found %s",
                info.payloads().text(),
                message.payloads().text());
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

    private static void requireIs(boolean isTrue, String expected, RecordView found) throws MalformedSliceException {
        String text = "expected %s, found a %s %s from worker %d to worker %d";
        require(isTrue, text, expected, found.type(), MessageId.text(found.id()), found.from(), found.to());
    }

    private void checkStorages(SlicedMessage message, RecordView record) throws MalformedSliceException {
        String id = MessageId.text(record.id());
        Map<Integer, Long> listed = new HashMap<>();
        for (SlicedStorage storage : message.storages()) {
            int number = storage.number();
            boolean isNew = number < Envelope.MAX_TENSORS && listed.put(number, storage.sizeBytes()) == null;
            require(isNew, "expected each storage of %s once, found number %d", id, number);
            checkState(message, record, storage);
        }
        if (message.payloads() == Payloads.FULL) { // otherwise the record does not contain it
            Map<Integer, Long> beside = besideRecord(record);
            require(listed.equals(beside), "expected storages of the sizes %s of %s, found %s", beside, id, listed);
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
        require(
                fits && size.isPresent() && size.get() == storage.sizeBytes(),
                "expected %d bytes of storage %d of the %s %s, found %s, %s",
                storage.sizeBytes(),
                storage.number(),
                message.kind() == Kind.REQUEST ? "request" : "response to",
                MessageId.text(record.id()),
                size.isEmpty() ? "no entry" : size.get() + " bytes",
                storage.state());
    }

    /** Returns the sizes of the storages outside of a record, by number. */
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
