package io.waybill.kept;

import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import io.waybill.api.tensor.TensorBuffers;
import io.waybill.rref.id.RRefId;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.CRC32C;

/**
 * Reads one file of {@link KeptLayout}, and trusts nothing in it: lengths are compared with the file's before anything
 * is allocated, and the head's checksum before anything in it is used. For one thread.
 */
final class KeptReader {

    private final Path file;
    private final FileChannel channel;
    private final long fileLength;
    private ByteBuffer head;

    KeptReader(Path file, FileChannel channel) throws IOException {
        this.file = file;
        this.channel = channel;
        this.fileLength = channel.size();
    }

    /**
     * Reads a value.
     *
     * @param id the reference in the file's name
     * @param owner the worker that owns it
     * @throws DamagedValueException when it is damaged
     * @throws io.waybill.api.CallException when there is no room for its storages
     */
    KeptValue read(RRefId id, int owner, TensorBuffers buffers) throws IOException {
        head = readHead();
        requireIdentity(id, owner);
        int typeLength = Byte.toUnsignedInt(head.get(KeptLayout.TYPE_LENGTH_AT));
        int payloadLength = head.getInt(KeptLayout.PAYLOAD_LENGTH_AT);
        int tensors = Short.toUnsignedInt(head.getShort(KeptLayout.TENSOR_COUNT_AT));
        int storages = Short.toUnsignedInt(head.getShort(KeptLayout.STORAGE_COUNT_AT));
        require(tensors <= KeptLayout.MAX_TENSORS && storages <= tensors, "tensors or storages, which are too many");
        require(payloadLength >= 0 && payloadLength <= KeptLayout.MAX_PAYLOAD_BYTES, "payload");
        require(head.remaining() - typeLength >= payloadLength, "type and payload");
        String type = text(take(typeLength));
        byte[] payload = take(payloadLength);
        int tensorsAt = head.position();
        skipTensors(tensors);
        require(head.remaining() == storages * KeptLayout.STORAGE_LENGTH, "storages");
        List<Storage> read = readStorages(storages, buffers);
        try {
            head.position(tensorsAt);
            return new KeptValue(id, type, payload, tensors(tensors, read));
        } catch (IOException | RuntimeException e) {
            read.forEach(Storage::release);
            throw e;
        }
    }

    /** Returns the head, positioned behind the header. */
    private ByteBuffer readHead() throws IOException {
        require(fileLength >= KeptLayout.HEADER_LENGTH, "header");
        ByteBuffer header = readFully(0, KeptLayout.HEADER_LENGTH);
        require(header.getLong(KeptLayout.MAGIC_AT) == KeptLayout.MAGIC, "magic");
        int format = header.getInt(KeptLayout.FORMAT_AT);
        if (format != KeptLayout.FORMAT) {
            throw new IOException(file + " has format " + format + ", and this version reads " + KeptLayout.FORMAT);
        }
        require(header.getLong(KeptLayout.FILE_LENGTH_AT) == fileLength, "file length");
        int length = header.getInt(KeptLayout.HEAD_LENGTH_AT);
        require(
                length >= KeptLayout.HEADER_LENGTH && length <= Math.min(fileLength, KeptLayout.MAX_HEAD_BYTES),
                "head length");
        ByteBuffer whole = readFully(0, length);
        int expected = whole.getInt(KeptLayout.CHECKSUM_AT);
        whole.putInt(KeptLayout.CHECKSUM_AT, 0);
        CRC32C found = new CRC32C();
        found.update(whole.array());
        requireChecksum(expected, (int) found.getValue(), "its head");
        return whole.position(KeptLayout.HEADER_LENGTH);
    }

    private void requireIdentity(RRefId id, int owner) throws DamagedValueException {
        int createdOn = Short.toUnsignedInt(head.getShort(KeptLayout.CREATED_ON_AT));
        long localId = head.getLong(KeptLayout.LOCAL_ID_AT);
        int writtenBy = Short.toUnsignedInt(head.getShort(KeptLayout.OWNER_AT));
        if (createdOn != id.createdOn() || localId != id.localId() || writtenBy != owner) {
            throw new DamagedValueException(
                    file,
                    "expected the value of " + id + " of worker " + owner + ", found that of created_on=" + createdOn
                            + ", local_id=" + localId + " of worker " + writtenBy);
        }
        for (int at = KeptLayout.RESERVED_AT; at < KeptLayout.HEADER_LENGTH; at++) {
            require(head.get(at) == 0, "reserved bytes");
        }
    }

    private byte[] take(int length) {
        byte[] taken = new byte[length];
        head.get(taken);
        return taken;
    }

    private String text(byte[] utf8) throws DamagedValueException {
        try {
            return StandardCharsets.UTF_8
                    .newDecoder()
                    .decode(ByteBuffer.wrap(utf8))
                    .toString();
        } catch (CharacterCodingException e) {
            throw new DamagedValueException(file, "the type's name is not UTF-8");
        }
    }

    private void skipTensors(int count) throws DamagedValueException {
        for (int i = 0; i < count; i++) {
            require(head.remaining() >= KeptLayout.TENSOR_FIXED_LENGTH, "tensors");
            int dimensions = Byte.toUnsignedInt(head.get(head.position() + 2));
            int length = KeptLayout.tensorLength(dimensions);
            require(dimensions <= Tensor.MAX_DIMENSIONS && head.remaining() >= length, "tensors");
            head.position(head.position() + length);
        }
    }

    private List<Storage> readStorages(int count, TensorBuffers buffers) throws IOException {
        List<Storage> read = new ArrayList<>(count);
        long end = head.capacity();
        try {
            for (int i = 0; i < count; i++) {
                long size = head.getLong();
                long offset = head.getLong();
                int checksum = head.getInt();
                require(head.getInt() == 0 && offset == KeptLayout.align(end), "place of storage " + i);
                require(size >= 0 && offset <= fileLength && size <= fileLength - offset, "size of storage " + i);
                requireZeros(end, offset);
                Storage storage = buffers.allocate(size);
                read.add(storage);
                requireChecksum(checksum, fill(storage, offset), "its storage " + i);
                end = offset + size;
            }
            require(end == fileLength, "end");
            return read;
        } catch (IOException | RuntimeException e) {
            read.forEach(Storage::release);
            throw e;
        }
    }

    private void requireZeros(long from, long to) throws IOException {
        ByteBuffer gap = readFully(from, (int) (to - from));
        while (gap.hasRemaining()) {
            require(gap.get() == 0, "zeros before a storage");
        }
    }

    /** Reads a storage, and returns the checksum of its bytes. */
    private int fill(Storage storage, long offset) throws IOException {
        CRC32C checksum = new CRC32C();
        for (long at = 0; at < storage.sizeBytes(); at += KeptLayout.PIECE_BYTES) {
            int length = (int) Math.min(KeptLayout.PIECE_BYTES, storage.sizeBytes() - at);
            ByteBuffer piece = readFully(offset + at, length);
            checksum.update(piece.array(), 0, length);
            storage.bytes(at, length).put(piece);
        }
        return (int) checksum.getValue();
    }

    private List<Tensor> tensors(int count, List<Storage> storages) throws DamagedValueException {
        List<Tensor> tensors = new ArrayList<>(count);
        try {
            for (int i = 0; i < count; i++) {
                tensors.add(tensor(storages));
            }
        } catch (IllegalArgumentException e) {
            throw new DamagedValueException(file, "tensor " + tensors.size() + ": " + e.getMessage());
        }
        require(tensors.stream().map(Tensor::storage).distinct().count() == storages.size(), "tensors of storages");
        return tensors;
    }

    private Tensor tensor(List<Storage> storages) throws DamagedValueException {
        DType dtype = DType.of(Byte.toUnsignedInt(head.get()));
        int flags = head.get();
        long[] sizes = new long[head.get()];
        long[] strides = new long[sizes.length];
        require((flags & ~KeptLayout.REQUIRES_GRAD) == 0 && head.get() == 0, "tensor's flags");
        int storage = Short.toUnsignedInt(head.getShort());
        require(storage < storages.size() && head.getShort() == 0, "tensor's storage");
        long offset = head.getLong();
        head.asLongBuffer().get(sizes).get(strides);
        head.position(head.position() + 16 * sizes.length);
        return new Tensor(dtype, sizes, strides, offset, flags == KeptLayout.REQUIRES_GRAD, storages.get(storage));
    }

    /** Returns a heap buffer of exactly these bytes, from its start. */
    private ByteBuffer readFully(long offset, int length) throws IOException {
        ByteBuffer bytes = ByteBuffer.allocate(length).order(ByteOrder.LITTLE_ENDIAN);
        while (bytes.hasRemaining()) {
            require(channel.read(bytes, offset + bytes.position()) >= 0, "length, which shrank");
        }
        return bytes.flip();
    }

    private void requireChecksum(int expected, int found, String of) throws DamagedValueException {
        if (found != expected) {
            throw new DamagedValueException(
                    file,
                    of + " has the checksum " + Integer.toHexString(found) + ", expected "
                            + Integer.toHexString(expected));
        }
    }

    private void require(boolean holds, String what) throws DamagedValueException {
        if (!holds) {
            throw new DamagedValueException(file, "its " + what + " can't be right, in " + fileLength + " bytes");
        }
    }
}
