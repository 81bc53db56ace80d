package io.waybill.wire;

/**
 * Layout of a record: a header of fixed length, the payload, and the tensor section. {@code docs/reference/envelope.md}
 * describes its bytes. All numbers are little-endian; counters and lengths are unsigned unless the page says otherwise.
 *
 * <p>The checksum covers sender, queue (by the type's flag), sequence and id, so that the check fails for a record that
 * is not at the position where it was written.
 */
public final class Envelope {

    public static final int VERSION = 1;
    public static final int MAGIC = 0x4257;

    public static final int CHECKSUM = 0;
    public static final int MAGIC_AT = 4;
    public static final int VERSION_AT = 6;
    public static final int FLAGS = 7;
    public static final int SEQUENCE = 8;
    public static final int ID = 16;
    public static final int FROM = 24;
    public static final int TO = 26;
    public static final int TYPE = 28;
    public static final int TENSOR_COUNT = 30;
    public static final int PAYLOAD_LENGTH = 32;
    public static final int SECTION_LENGTH = 36;
    public static final int DEADLINE = 40;
    public static final int SENT = 48;
    public static final int PARENT = 56;
    public static final int TRACE_HIGH = 64;
    public static final int TRACE_LOW = 72;
    public static final int SPAN = 80;
    public static final int RESPONDER = 64;
    public static final int ROOT_ID = 72;
    public static final int ROOT_CODE = 80;
    public static final int HANDLER_SEQUENCE = 88;
    public static final int DUE = 88;
    public static final int ERROR_KIND = 96;
    public static final int RESERVED_BYTE = 97;
    public static final int ERROR_CODE = 98;
    public static final int EPOCH = 100;
    public static final int HEADER_LENGTH = 104;

    /** Offset of the first byte that the checksum covers. */
    public static final int CHECKED_FROM = MAGIC_AT;

    /** Flag of a request that was sent before. */
    public static final int REPEATED = 1;

    /** Flag of a message whose payload ends with references. */
    public static final int REFERENCES = 2;

    /**
     * Flag of a request that a later incarnation of its receiver may run as well, and of a response to a request that
     * an earlier incarnation of its sender may have begun.
     */
    public static final int ACROSS_INCARNATIONS = 4;

    /** Flag of a response whose payload ends with what its handler observed, in front of the references. */
    public static final int OBSERVATIONS = 8;

    /** Flag of a request whose last reference is the reference to the value that a message inside it creates. */
    public static final int CREATES = 16;

    /** Flag of a request whose payload ends with the context of the call, in front of the references. */
    public static final int CONTEXT = 32;

    /** Flag of a record whose payload ends with {@link OptionalFields}, in front of the references. */
    public static final int OPTIONAL_FIELDS = 64;

    /** Flags of a record whose payload ends with something other than values. */
    static final int TRAILERS = REFERENCES | OBSERVATIONS | CONTEXT | OPTIONAL_FIELDS;

    /** All known flags. */
    public static final int KNOWN_FLAGS =
            REPEATED | REFERENCES | ACROSS_INCARNATIONS | OBSERVATIONS | CREATES | CONTEXT | OPTIONAL_FIELDS;

    /**
     * Trailer of the references: their count (u16), zeros (u16), and their size in bytes including this trailer (u32).
     */
    public static final int REFERENCES_END = 8;

    /** Max tensors in one message. */
    public static final int MAX_TENSORS = 1 << 15;

    private Envelope() {}

    /** Returns the offset of the tensor section. */
    public static int sectionOffset(int payloadLength) {
        return (HEADER_LENGTH + payloadLength + 7) & ~7;
    }

    /** Returns the length of a whole record. */
    public static long recordLength(long payloadLength, long sectionLength) {
        return sectionLength == 0
                ? HEADER_LENGTH + payloadLength
                : ((HEADER_LENGTH + payloadLength + 7) & ~7L) + sectionLength;
    }
}
