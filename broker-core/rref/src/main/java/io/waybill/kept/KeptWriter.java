package io.waybill.kept;

import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import io.waybill.host.FileContent;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.zip.CRC32C;

/**
 * Writes one value in the format of {@link KeptLayout}: the storages first, then the head with their checksums. For one
 * thread.
 */
final class KeptWriter implements FileContent {

    private final KeptValue value;
    private final int owner;
    private final int epoch;
    private final byte[] type;
    private final List<Storage> storages;
    private final Map<Storage, Integer> indices = new IdentityHashMap<>();

    /**
     * Prepares the file of a value.
     *
     * @throws IllegalArgumentException when the value exceeds the limits of a file
     */
    KeptWriter(KeptValue value, int owner, int epoch) {
        this.value = value;
        this.owner = owner;
        this.epoch = epoch;
        this.type = value.type().getBytes(StandardCharsets.UTF_8);
        this.storages = value.storages();
        storages.forEach(storage -> indices.put(storage, indices.size()));
        if (type.length > KeptLayout.MAX_TYPE_BYTES
                || value.payload().length > KeptLayout.MAX_PAYLOAD_BYTES
                || value.tensors().size() > KeptLayout.MAX_TENSORS) {
            throw new IllegalArgumentException("a kept value has a type of at most " + KeptLayout.MAX_TYPE_BYTES
                    + " bytes, a payload of at most " + KeptLayout.MAX_PAYLOAD_BYTES + " and at most "
                    + KeptLayout.MAX_TENSORS + " tensors: " + type.length + ", " + value.payload().length + ", "
                    + value.tensors().size());
        }
    }

    private int headLength() {
        int length = KeptLayout.HEADER_LENGTH + type.length + value.payload().length;
        for (Tensor tensor : value.tensors()) {
            length += KeptLayout.tensorLength(tensor.sizes().length);
        }
        return length + storages.size() * KeptLayout.STORAGE_LENGTH;
    }

    @Override
    public void writeTo(FileChannel channel) throws IOException {
        ByteBuffer head = ByteBuffer.allocate(headLength()).order(ByteOrder.LITTLE_ENDIAN);
        head.position(KeptLayout.HEADER_LENGTH).put(type).put(value.payload());
        value.tensors().forEach(tensor -> put(head, tensor));
        long end = head.capacity();
        for (Storage storage : storages) {
            long offset = KeptLayout.align(end);
            int checksum = write(storage, channel, offset);
            head.putLong(storage.sizeBytes()).putLong(offset).putInt(checksum).putInt(0);
            end = offset + storage.sizeBytes();
        }
        if (channel.size() < end) {
            writeAll(channel, ByteBuffer.allocate(1), end - 1); // the last storage has no bytes
        }
        putHeader(head, end);
        writeAll(channel, head.flip(), 0);
    }

    private void put(ByteBuffer head, Tensor tensor) {
        head.put((byte) tensor.dtype().code())
                .put((byte) (tensor.requiresGrad() ? KeptLayout.REQUIRES_GRAD : 0))
                .put((byte) tensor.sizes().length)
                .put((byte) 0)
                .putShort(indices.get(tensor.storage()).shortValue())
                .putShort((short) 0)
                .putLong(tensor.storageOffset());
        for (long size : tensor.sizes()) {
            head.putLong(size);
        }
        for (long stride : tensor.strides()) {
            head.putLong(stride);
        }
    }

    private void putHeader(ByteBuffer head, long fileLength) {
        head.putLong(KeptLayout.MAGIC_AT, KeptLayout.MAGIC)
                .putInt(KeptLayout.FORMAT_AT, KeptLayout.FORMAT)
                .putLong(KeptLayout.FILE_LENGTH_AT, fileLength)
                .putLong(KeptLayout.LOCAL_ID_AT, value.id().localId())
                .putShort(KeptLayout.CREATED_ON_AT, (short) value.id().createdOn())
                .putShort(KeptLayout.OWNER_AT, (short) owner)
                .putInt(KeptLayout.EPOCH_AT, epoch)
                .putInt(KeptLayout.HEAD_LENGTH_AT, head.capacity())
                .putInt(KeptLayout.PAYLOAD_LENGTH_AT, value.payload().length)
                .putShort(KeptLayout.TENSOR_COUNT_AT, (short) value.tensors().size())
                .putShort(KeptLayout.STORAGE_COUNT_AT, (short) storages.size())
                .put(KeptLayout.TYPE_LENGTH_AT, (byte) type.length);
        CRC32C checksum = new CRC32C();
        checksum.update(head.array());
        head.putInt(KeptLayout.CHECKSUM_AT, (int) checksum.getValue());
    }

    /** Returns the checksum. The checked bytes are the written ones, even if the storage changes in the meantime. */
    private static int write(Storage storage, FileChannel channel, long offset) throws IOException {
        CRC32C checksum = new CRC32C();
        byte[] piece = new byte[(int) Math.min(KeptLayout.PIECE_BYTES, storage.sizeBytes())];
        for (long at = 0; at < storage.sizeBytes(); at += piece.length) {
            int length = (int) Math.min(piece.length, storage.sizeBytes() - at);
            storage.bytes(at, length).get(piece, 0, length);
            checksum.update(piece, 0, length);
            writeAll(channel, ByteBuffer.wrap(piece, 0, length), offset + at);
        }
        return (int) checksum.getValue();
    }

    private static void writeAll(FileChannel channel, ByteBuffer bytes, long offset) throws IOException {
        long at = offset;
        while (bytes.hasRemaining()) {
            at += channel.write(bytes, at);
        }
    }
}
