package io.waybill.replay.slice;

import io.waybill.api.tensor.Tensor;
import io.waybill.archive.ArchiveReader.Sink;
import io.waybill.query.stored.StoredRecord;
import io.waybill.query.stored.StoredStorage;
import io.waybill.query.stored.StoredStorage.Location;
import io.waybill.query.stored.StoredTensors;
import io.waybill.replay.slice.SlicedMessage.Kind;
import io.waybill.replay.slice.SlicedStorage.State;
import io.waybill.tensor.DescribedTensors;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Locale;
import java.util.Optional;
import java.util.zip.CRC32C;

/** Locates the bytes of tensors of a slice: in the record, or in an entry. One thread at a time. */
final class SlicedTensors implements StoredTensors {

    private final SliceRecording slice;

    SlicedTensors(SliceRecording slice) {
        this.slice = slice;
    }

    @Override
    public StoredStorage storageOf(StoredRecord record, Tensor tensor) throws IOException {
        if (DescribedTensors.isInline(tensor)) {
            return StoredStorage.inRecord(tensor);
        }
        int number = DescribedTensors.storageOf(tensor);
        long bytes = tensor.storage().sizeBytes();
        Kind kind = SliceMessages.kind(record);
        Optional<SlicedStorage> storage = slice.reader().message(record.id(), kind).stream()
                .flatMap(message -> message.storages().stream())
                .filter(each -> each.number() == number)
                .findFirst();
        if (storage.isEmpty() || storage.get().state() != State.ENTRY) {
            String why = storage.map(SlicedStorage::reason).orElse("the slice does not have it");
            return new StoredStorage(number, bytes, Location.NOWHERE, "", why);
        }
        CRC32C checksum = new CRC32C();
        slice.file().read(SliceLayout.tensorName(record.id(), kind, number), checksum::update);
        String digest = String.format(Locale.ROOT, "%08x", checksum.getValue());
        return new StoredStorage(number, bytes, Location.SLICE, digest, "in the slice, crc32c " + digest);
    }

    @Override
    public boolean read(StoredRecord record, Tensor tensor, Sink sink) throws IOException {
        int number = DescribedTensors.storageOf(tensor);
        slice.file().read(SliceLayout.tensorName(record.id(), SliceMessages.kind(record), number), sink);
        return true;
    }

    /** Reads the whole entry, which is compressed. */
    @Override
    public boolean readKept(StoredRecord record, Tensor tensor, long offset, ByteBuffer to) throws IOException {
        long[] skip = {offset};
        return read(record, tensor, piece -> {
                    int skipped = (int) Math.min(skip[0], piece.remaining());
                    skip[0] -= skipped;
                    int count = Math.min(to.remaining(), piece.remaining() - skipped);
                    to.put(piece.slice(piece.position() + skipped, count));
                })
                && !to.hasRemaining();
    }
}
