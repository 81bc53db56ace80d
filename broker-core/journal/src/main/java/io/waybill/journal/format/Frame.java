package io.waybill.journal.format;

import io.waybill.wire.Envelope;

/**
 * Four bytes in front of every document of a queue's file: its length in the low 30 bits, and two flags. A frame starts
 * at a multiple of four.
 */
public final class Frame {

    /** Length of the frame's own header. */
    public static final int LENGTH = 4;
    /** Frame at the end of a file that a newer one continues. */
    public static final int END = 0xc0000000;

    private static final int UNFINISHED = 0x80000000;
    private static final int META = 0x40000000;
    private static final int LENGTH_MASK = 0x3fffffff;

    private Frame() {}

    /** Returns whether there is no document yet, or one that its writer has not finished. */
    public static boolean isOpen(int frame) {
        return frame == 0 || (frame & UNFINISHED) != 0;
    }

    /** Returns whether the document is the queue's own and no record. */
    public static boolean isMeta(int frame) {
        return (frame & META) != 0;
    }

    public static int bytes(int frame) {
        return frame & LENGTH_MASK;
    }

    /** Returns the position of the frame that follows one of this length. */
    public static long behind(long position, int bytes) {
        return position + LENGTH + bytes + 3 & ~3L;
    }

    /** Returns whether a record's header with these lengths belongs to a frame of this length. */
    public static boolean holds(int frame, int magicAndVersion, int payloadLength, int sectionLength) {
        return !isOpen(frame)
                && (magicAndVersion & 0xffffff) == (Envelope.MAGIC | Envelope.VERSION << 16)
                && Envelope.recordLength(Integer.toUnsignedLong(payloadLength), Integer.toUnsignedLong(sectionLength))
                        == bytes(frame);
    }
}
