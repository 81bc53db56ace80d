package io.waybill.replay.slice;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * State of a storage outside of its record, in a slice. Immutable, except for the array.
 *
 * @param number number in its record
 * @param digest SHA-256 of the bytes; empty if absent
 * @param reason why its bytes were not kept; empty otherwise
 */
record SlicedStorage(int number, State state, long sizeBytes, byte[] digest, String reason) {

    private static final byte[] NO_DIGEST = {};

    /** State of its bytes. */
    enum State {
        ENTRY,
        DIGEST,
        LEFT_OUT,
        NOT_KEPT
    }

    /** Creates a storage without a digest. */
    SlicedStorage(int number, State state, long sizeBytes, String reason) {
        this(number, state, sizeBytes, NO_DIGEST, reason);
    }

    private byte[] text() {
        byte[] text = reason.getBytes(StandardCharsets.UTF_8);
        return text.length <= SliceLayout.MAX_TEXT_BYTES ? text : Arrays.copyOf(text, SliceLayout.MAX_TEXT_BYTES);
    }

    int length() {
        return SliceLayout.STORAGE_BYTES + digest.length + text().length;
    }

    void encode(ByteBuffer to) {
        byte[] text = text();
        to.putShort((short) number)
                .put((byte) state.ordinal())
                .put((byte) 0)
                .putShort((short) text.length)
                .putShort((short) 0)
                .putLong(sizeBytes)
                .put(digest)
                .put(text);
    }

    /**
     * Decodes a storage.
     *
     * @param from the rest of a message
     */
    static SlicedStorage decode(ByteBuffer from) throws MalformedSliceException {
        if (from.remaining() < SliceLayout.STORAGE_BYTES) {
            throw new MalformedSliceException("expected a storage of at least " + SliceLayout.STORAGE_BYTES
                    + " bytes, found " + from.remaining() + " bytes left");
        }
        int number = Short.toUnsignedInt(from.getShort());
        int state = from.get();
        int reserved = from.get();
        int textLength = Short.toUnsignedInt(from.getShort());
        reserved |= from.getShort();
        long size = from.getLong();
        if (state < 0 || state >= State.values().length || size < 0 || reserved != 0) {
            throw new MalformedSliceException("expected a storage of state 0 to 3 with 0 bytes or more, found state "
                    + state + " and " + size + " bytes, reserved " + reserved);
        }
        State found = State.values()[state];
        byte[] digest = SlicedMessage.take(from, found == State.DIGEST ? SliceLayout.DIGEST_BYTES : 0);
        if (textLength > SliceLayout.MAX_TEXT_BYTES || textLength > 0 != (found == State.NOT_KEPT)) {
            throw new MalformedSliceException("expected a reason of 1 to " + SliceLayout.MAX_TEXT_BYTES
                    + " bytes for a storage that was not kept and none for others, found " + textLength
                    + " bytes for state " + state);
        }
        return new SlicedStorage(
                number, found, size, digest, new String(SlicedMessage.take(from, textLength), StandardCharsets.UTF_8));
    }
}
