package io.waybill.replay.slice;

import io.waybill.journal.JournalQueue;
import io.waybill.replay.recording.RecordedMessage;
import io.waybill.replay.recording.StorageBytes;
import io.waybill.replay.slice.SlicedMessage.Kind;
import io.waybill.replay.slice.SlicedStorage.State;
import io.waybill.wire.RecordView;
import java.io.IOException;
import java.util.Optional;

/** The storages that are entries of a slice. One thread. */
final class SlicedStorages implements StorageBytes {

    private final SliceFile file;
    private final SliceReader reader;

    SlicedStorages(SliceFile file, SliceReader reader) {
        this.file = file;
        this.reader = reader;
    }

    static Kind kind(RecordedMessage message) {
        return message.queue() == JournalQueue.REQUESTS ? Kind.REQUEST : Kind.ANSWER;
    }

    @Override
    public Optional<String> missing(RecordedMessage message, RecordView record, int number, long sizeBytes)
            throws IOException {
        Optional<SlicedStorage> storage = reader.message(record.id(), kind(message))
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

    @Override
    public void close() {
        // the file is its owner's
    }
}
