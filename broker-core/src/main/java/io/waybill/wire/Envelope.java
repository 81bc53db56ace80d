package io.waybill.wire;

/**
 * The layout of a record: a header of fixed length, the payload, and the tensor section. All numbers are little-endian; counters and
 * lengths are unsigned unless it says otherwise.
 *
 * <pre>
 * offset size field
 *   0     4   checksum        CRC-32C of all bytes from offset 4 to the end of the record
 *   4     2   magic           0x4257, "WB"
 *   6     1   version         1
 *   7     1   flags           bit 0: the sender repeats a request that it had sent before; bit 1: references stand at the
 *                            end of the payload; bit 2: requests: a later incarnation of the receiver may run it; responses: an
 *                            earlier incarnation of the sender may have begun the request; bit 3: responses: what the handler
 *                            observed stands at the end of the payload, in front of the references; bit 4: requests: the last reference is the one to the value that a
 *                            message inside this one creates; bit 5: requests: the context of the call stands at the end of the payload, in front
 *                            of the references; other bits 0
 *   8     8   sequence        number of this record in its queue, from 0
 *  16     8   id              of the message: worker id of the caller (16 bits), the caller's counter (48 bits)
 *  24     2   from            worker id of the sender, the owner of the journal
 *  26     2   to              worker id of the receiver
 *  28     2   type            code of the message type, with its request or response flag
 *  30     2   tensor count    0..32768
 *  32     4   payload length  in bytes
 *  36     4   section length  of the tensor section in bytes; 0 when there are no tensors
 *  40     8   deadline        requests: signed; CLOCK_BOOTTIME in ns; 0: none
 *             begun           responses: signed; wall clock in ns since 1970 when the handler began; 0: none did, or it ran
 *                            on the thread that polled
 *  48     8   sent            signed; wall clock in ns since 1970
 *  56     8   parent          id of the request whose handler sent this one; all ones: none
 *  64    16   trace id        requests: W3C trace context, high then low half; 0: none
 *             responder       responses: the first 8 bytes: number of the bundle that responded, in the sender's file responders; 0: none, or unknown
 *             root id         EXCEPTION: the last 8 bytes: with a root code, id of the call whose failure caused this one; all ones: it was not sent
 *  80     8   span id         requests: of the span that the call is; 0: none
 *             root code       EXCEPTION: the first 2 bytes: number of the error of that call; 0: no call caused it; the rest 0
 *  88     8   handler sequence  responses: how many requests the sender had begun before this one
 *             due             requests: signed; the deadline by the wall clock in ns since 1970, as it was when sent; 0: none, or unknown
 *  96     1   error kind      EXCEPTION only: 0 unknown, 1 timeout, 2 intentional failure
 *  97     1   reserved        0
 *  98     2   error code      EXCEPTION only: number of an ErrorCode
 * 100     4   epoch      requests: low 32 bits of the epoch of the receiver that it is for; responses: 0
 * 104     …   payload
 *   …     …   zeros up to the next multiple of 8, when there is a tensor section
 *   …     …   tensor section
 * </pre>
 *
 * The checksum covers sender, queue (by the type's flag), sequence and id, so that a record that turns up at another position than where it
 * was written does not pass for what belongs there.
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

    /** The first byte that the checksum covers. */
    public static final int CHECKED_FROM = MAGIC_AT;

    /** The flag of a request that was sent before. */
    public static final int REPEATED = 1;

    /** The flag of a message whose payload ends with references. */
    public static final int REFERENCES = 2;

    /**
     * The flag of a request that a later incarnation of its receiver may run as well, and of a response to one that an earlier incarnation
     * of its sender
     * may have begun.
     */
    public static final int ACROSS_INCARNATIONS = 4;

    /** The flag of a response whose payload ends with what its handler observed, in front of the references. */
    public static final int OBSERVATIONS = 8;

    /** The flag of a request whose last reference is the one to the value that a message inside it creates. */
    public static final int CREATES = 16;

    /** The flag of a request whose payload ends with the context of the call, in front of the references. */
    public static final int CONTEXT = 32;

    /** All known flags. */
    public static final int KNOWN_FLAGS =
            REPEATED | REFERENCES | ACROSS_INCARNATIONS | OBSERVATIONS | CREATES | CONTEXT;

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

    /** The length of a whole record. */
    public static long recordLength(long payloadLength, long sectionLength) {
        return sectionLength == 0
                ? HEADER_LENGTH + payloadLength
                : ((HEADER_LENGTH + payloadLength + 7) & ~7L) + sectionLength;
    }
}
