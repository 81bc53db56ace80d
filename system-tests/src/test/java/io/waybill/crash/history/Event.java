package io.waybill.crash.history;

import java.nio.ByteBuffer;

/**
 * One line of a log that a process of a run keeps outside the home. Immutable. 32 bytes, little-endian, so that none crosses a page and a
 * kill leaves it whole or leaves it out:
 *
 * <pre>
 *  0  u16  kind
 *  2  u16  code
 *  4  u32  digest, CRC-32C of a payload
 *  8  i64  id of the message
 * 16  i64  when, CLOCK_BOOTTIME in ns
 * 24  i64  number
 * </pre>
 *
 * @param code SENT: the timeout in ms; REFUSED, FAILED: number of the error; BEGUN: 1 when the handler was told of a redelivery
 * @param digest SENT, OK, BEGUN, ANSWERED, CLAIMED: of the payload
 * @param id of the message; JOINED: of the worker
 * @param number SENT, REFUSED: which of this incarnation's calls, from 0; JOINED: the epoch; ENDED: calls without an outcome
 */
public record Event(Kind kind, int code, int digest, long id, long atNs, long number) {

    /** The code of a run that its handler was told is a redelivery. */
    static final int REDELIVERY = 1;

    static final int BYTES = 32;

    private static final Kind[] KINDS = Kind.values();

    /** What happened. */
    public enum Kind {
        /** The process joined the home. */
        JOINED,
        /** A call was acknowledged: it has its id. */
        SENT,
        /** A call was refused: it has none. */
        REFUSED,
        /** A call was responded to. */
        OK,
        /** A call failed. */
        FAILED,
        /** A handler began. */
        BEGUN,
        /** A handler gave its response. */
        RESPONDED,
        /** A later incarnation of the caller learnt the response to a call. */
        CLAIMED,
        /** A later incarnation of the caller learned that a call failed. */
        CLAIM_FAILED,
        /** The process comes to its end in an orderly way. */
        ENDED
    }

    void write(ByteBuffer to) {
        to.putShort((short) kind.ordinal()).putShort((short) code).putInt(digest);
        to.putLong(id).putLong(atNs).putLong(number);
    }

    static Event read(ByteBuffer from) {
        int kind = from.getShort() & 0xffff;
        if (kind >= KINDS.length) {
            throw new IllegalArgumentException("a log has no kind " + kind);
        }
        int code = from.getShort() & 0xffff;
        return new Event(KINDS[kind], code, from.getInt(), from.getLong(), from.getLong(), from.getLong());
    }

    /** Whether it is about an id. */
    boolean isOutcome() {
        return kind == Kind.OK || kind == Kind.FAILED;
    }

    boolean isClaim() {
        return kind == Kind.CLAIMED || kind == Kind.CLAIM_FAILED;
    }
}
