package io.waybill.replay.slice;

import io.waybill.wire.Envelope;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/**
 * A message in a slice. Immutable, except for the arrays.
 *
 * @param fileName name of its queue file
 * @param record without payload and tensors, unless they are all included
 * @param digest SHA-256 of the payload; empty if absent
 * @param storages storages outside of the record; all of them if the record has none
 */
record SlicedMessage(
        Kind kind, Payloads payloads, String fileName, byte[] record, byte[] digest, List<SlicedStorage> storages) {

    /** Kind of a message; its number in a file is one more than its ordinal. */
    enum Kind {
        REQUEST,
        RESPONSE
    }

    byte[] encode() {
        byte[] name = fileName.getBytes(StandardCharsets.US_ASCII);
        int length = SliceLayout.HEADER_BYTES
                + name.length
                + record.length
                + digest.length
                + storages.stream().mapToInt(SlicedStorage::length).sum();
        ByteBuffer bytes = ByteBuffer.allocate(length).order(ByteOrder.LITTLE_ENDIAN);
        bytes.putInt(length)
                .put((byte) (kind.ordinal() + 1))
                .put((byte) payloads.ordinal())
                .putShort((short) storages.size())
                .putInt(record.length)
                .putShort((short) name.length)
                .putShort((short) 0)
                .put(name)
                .put(record)
                .put(digest);
        storages.forEach(storage -> storage.encode(bytes));
        return bytes.array();
    }

    /** Returns the length of the message that begins at the buffer's position, where it must be complete. */
    static int length(ByteBuffer chunk) throws MalformedSliceException {
        int length = chunk.remaining() < SliceLayout.HEADER_BYTES ? 0 : chunk.getInt(chunk.position());
        if (length < SliceLayout.HEADER_BYTES || length > chunk.remaining()) {
            throw new MalformedSliceException("expected a message of " + SliceLayout.HEADER_BYTES + " bytes to the "
                    + chunk.remaining() + " that are left, found a length of " + length);
        }
        return length;
    }

    /** Returns whether a response begins at the buffer's position. */
    static boolean isResponse(ByteBuffer chunk) {
        return chunk.remaining() >= SliceLayout.HEADER_BYTES
                && chunk.get(chunk.position() + SliceLayout.KIND) == Kind.RESPONSE.ordinal() + 1;
    }

    /** Decodes the message at the buffer's position, and advances the position. */
    static SlicedMessage decode(ByteBuffer chunk) throws MalformedSliceException {
        int length = length(chunk);
        ByteBuffer from = chunk.slice(chunk.position(), length).order(ByteOrder.LITTLE_ENDIAN);
        chunk.position(chunk.position() + length);
        int kind = from.get(SliceLayout.KIND) - 1;
        int payloads = from.get(SliceLayout.PAYLOADS);
        int storages = Short.toUnsignedInt(from.getShort(SliceLayout.STORAGE_COUNT));
        int recordLength = from.getInt(SliceLayout.RECORD_LENGTH);
        int nameLength = Short.toUnsignedInt(from.getShort(SliceLayout.NAME_LENGTH));
        if (kind < 0
                || kind >= Kind.values().length
                || payloads < 0
                || payloads >= Payloads.values().length
                || storages > Envelope.MAX_TENSORS
                || from.getShort(SliceLayout.RESERVED) != 0) {
            throw new MalformedSliceException("expected a message of kind 1 or 2, with payloads 0 to 2 and at most "
                    + Envelope.MAX_TENSORS + " storages, found kind " + (kind + 1) + ", payloads " + payloads + " and "
                    + storages + " storages");
        }
        int digestLength = payloads == Payloads.DIGEST.ordinal() ? SliceLayout.DIGEST_BYTES : 0;
        from.position(SliceLayout.HEADER_BYTES);
        if (nameLength < 1
                || nameLength > SliceLayout.MAX_NAME_BYTES
                || recordLength < 0
                || recordLength > SliceLayout.MAX_RECORD_BYTES
                || nameLength + recordLength + digestLength > from.remaining()) {
            throw new MalformedSliceException("expected a name and a record that fit into a message of " + length
                    + " bytes, found a name of " + nameLength + " and a record of " + recordLength + " bytes");
        }
        String name = new String(take(from, nameLength), StandardCharsets.US_ASCII);
        byte[] record = take(from, recordLength);
        byte[] digest = take(from, digestLength);
        List<SlicedStorage> found = new ArrayList<>();
        for (int i = 0; i < storages; i++) {
            found.add(SlicedStorage.decode(from));
        }
        if (from.hasRemaining()) {
            throw new MalformedSliceException(
                    "expected the end of a message of " + length + " bytes, found " + from.remaining() + " more");
        }
        return new SlicedMessage(
                Kind.values()[kind], Payloads.values()[payloads], name, record, digest, List.copyOf(found));
    }

    static byte[] take(ByteBuffer from, int length) throws MalformedSliceException {
        if (length > from.remaining()) {
            throw new MalformedSliceException("expected " + length + " more bytes, found " + from.remaining());
        }
        byte[] bytes = new byte[length];
        from.get(bytes);
        return bytes;
    }
}
