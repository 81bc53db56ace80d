package io.waybill.wire;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;

/**
 * Inputs that a handler observed until its response; encoded after the payload of the response.
 * {@code docs/reference/envelope.md} describes their bytes. Immutable.
 *
 * @param seen observations in the order in which the handler made them
 * @param isCut whether some observations are missing
 */
public record Observations(List<Observation> seen, boolean isCut) {

    /** Max observations of one request. */
    public static final int MAX = 1024;

    /** Observations of a handler that observed nothing. */
    public static final Observations NONE = new Observations(List.of(), false);

    /** Observations that have no room in the record. */
    public static final Observations LEFT_OUT = new Observations(List.of(), true);

    /** Encoding of {@link #NONE}: no bytes. */
    public static final byte[] NO_BYTES = new byte[0];

    static final int ENTRY_LENGTH = 9;
    static final int END_LENGTH = 8;

    public Observations {
        seen = List.copyOf(seen);
        if (seen.size() > MAX) {
            throw new IllegalArgumentException("at most " + MAX + " observations are kept: " + seen.size());
        }
    }

    public boolean isEmpty() {
        return seen.isEmpty() && !isCut;
    }

    /** Encodes the observations in record format. */
    public byte[] encode() {
        if (isEmpty()) {
            return NO_BYTES;
        }
        int length = length(seen.size());
        ByteBuffer bytes = ByteBuffer.allocate(length).order(ByteOrder.LITTLE_ENDIAN);
        for (Observation each : seen) {
            bytes.put((byte) each.kind().code()).putLong(each.value());
        }
        return bytes.putShort((short) seen.size())
                .putShort((short) (isCut ? 1 : 0))
                .putInt(length)
                .array();
    }

    static int length(int count) {
        return count * ENTRY_LENGTH + END_LENGTH;
    }

    /**
     * Reads what {@link #encode} wrote.
     *
     * @param bytes those alone, which passed the check of their record
     * @throws MalformedRecordException when there is one of a kind that this Waybill does not know
     */
    static Observations decode(byte[] bytes) throws MalformedRecordException {
        ByteBuffer from = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
        int end = bytes.length - END_LENGTH;
        List<Observation> seen = new ArrayList<>(end / ENTRY_LENGTH);
        while (from.position() < end) {
            seen.add(new Observation(Observation.Kind.of(Byte.toUnsignedInt(from.get())), from.getLong()));
        }
        from.getShort();
        return new Observations(seen, from.getShort() != 0);
    }
}
