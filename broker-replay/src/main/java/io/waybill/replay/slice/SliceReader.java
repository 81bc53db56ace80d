package io.waybill.replay.slice;

import io.waybill.api.WorkerInfo;
import io.waybill.archive.ArchiveReader.Sink;
import io.waybill.journal.JournalQueue;
import io.waybill.replay.recording.RecordedCall;
import io.waybill.replay.recording.RecordedMessage;
import io.waybill.replay.recording.StorageBytes;
import io.waybill.replay.slice.SliceLayout.Part;
import io.waybill.replay.slice.SlicedMessage.Kind;
import io.waybill.replay.slice.SlicedStorage.State;
import io.waybill.wire.Envelope;
import io.waybill.wire.RecordView;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;

/** Reads calls of a checked slice, and the storages in its entries. Caches the last read chunks. One thread. */
final class SliceReader implements StorageBytes {

    private static final int MAX_KEPT = 8;
    private static final float LOAD = 0.75f;

    private record ChunkName(Part part, int number) {}

    private final SliceFile file;
    private final SliceIndex index;
    private final Map<Integer, WorkerInfo> workers;
    private final Map<ChunkName, ByteBuffer> kept = new LinkedHashMap<>(MAX_KEPT, LOAD, true);

    SliceReader(SliceFile file, SliceIndex index, Map<Integer, WorkerInfo> workers) {
        this.file = file;
        this.index = index;
        this.workers = workers;
    }

    private ByteBuffer chunk(Part part, int number) throws IOException {
        ChunkName name = new ChunkName(part, number);
        ByteBuffer chunk = kept.get(name);
        if (chunk == null) {
            if (kept.size() == MAX_KEPT) {
                kept.remove(kept.keySet().iterator().next());
            }
            chunk = file.chunk(part, number);
            kept.put(name, chunk);
        }
        return chunk.duplicate().order(ByteOrder.LITTLE_ENDIAN);
    }

    Optional<RecordedCall> call(long id) throws IOException {
        Optional<SlicedCall> call = find(id);
        return call.isEmpty() ? Optional.empty() : Optional.of(recorded(call.get()));
    }

    private Optional<SlicedCall> find(long id) throws IOException {
        OptionalLong location = index.find(id);
        if (location.isEmpty()) {
            return Optional.empty();
        }
        long at = location.getAsLong();
        ByteBuffer chunk = chunk(SliceIndex.part(at), SliceIndex.chunk(at));
        return Optional.of(SlicedCall.decode(chunk.position(SliceIndex.offset(at))));
    }

    Optional<SlicedMessage> message(long id, Kind kind) throws IOException {
        Optional<SlicedCall> call = find(id);
        return kind == Kind.REQUEST ? call.map(SlicedCall::request) : call.flatMap(SlicedCall::response);
    }

    private RecordedCall recorded(SlicedCall call) {
        RecordedMessage request = recorded(JournalQueue.REQUESTS, call.request());
        return new RecordedCall(
                request.id(), request, call.response().map(response -> recorded(JournalQueue.RESPONSES, response)));
    }

    private RecordedMessage recorded(JournalQueue queue, SlicedMessage message) {
        int from =
                ByteBuffer.wrap(message.record()).order(ByteOrder.LITTLE_ENDIAN).getShort(Envelope.FROM) & 0xffff;
        return new RecordedMessage(workers.get(from), queue, message.fileName(), message.record());
    }

    static Kind kind(RecordedMessage message) {
        return message.queue() == JournalQueue.REQUESTS ? Kind.REQUEST : Kind.RESPONSE;
    }

    @Override
    public Optional<String> missing(RecordedMessage message, RecordView record, int number, long sizeBytes)
            throws IOException {
        Optional<SlicedStorage> storage = message(record.id(), kind(message))
                .flatMap(found -> found.storages().stream()
                        .filter(one -> one.number() == number)
                        .findFirst());
        if (storage.isEmpty()) {
            return Optional.of("the slice does not have the message");
        }
        if (storage.get().state() != State.ENTRY) {
            return Optional.of(storage.get().reason());
        }
        return storage.get().sizeBytes() == sizeBytes
                ? Optional.empty()
                : Optional.of("the slice has " + storage.get().sizeBytes() + " bytes of it");
    }

    @Override
    public Optional<String> read(RecordedMessage message, RecordView record, int number, Sink sink) throws IOException {
        try {
            file.read(SliceLayout.tensorName(record.id(), kind(message), number), sink);
            return Optional.empty();
        } catch (MalformedSliceException e) {
            return Optional.of("the slice is damaged: " + e.getMessage());
        }
    }
}
