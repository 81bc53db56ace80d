package io.waybill.replay.slice;

import io.waybill.api.MessageId;
import io.waybill.wire.Envelope;
import java.util.Locale;

/**
 * The layout of a slice: a zip file whose entries are stored, none deflated, with names of ASCII letters. Numbers are little-endian and
 * unsigned.
 *
 * <pre>
 * calls/00000000, …           the selected calls, message by message, each worker's in the order in which it began them
 * needed/00000000, …          calls that they depend on
 * tensors/3.1041.request.0    the bytes of storage 0 of the request 3.1041, of those that do not lie in the record
 * slice.json                  what the slice is: {@link SliceInfo}
 *
 * a message; that of a response stands behind that of its request, in the same entry
 * offset size field
 *   0     4   length          of the message with these bytes
 *   4     1   kind            1: request, 2: response
 *   5     1   payloads        0: all, 1: digests, 2: none
 *   6     2   storage count   0..32768: of those that do not lie in the record
 *   8     4   record length   104..67108864
 *  12     2   name length     1..255
 *  14     2   reserved        0
 *  16     …   name            of the queue's file that it lay in, ASCII
 *   …     …   record          an envelope and what follows. Without payloads: its envelope, and the name of its operation if it has one
 *   …    32   digest          payloads 1 only: SHA-256 of the whole payload
 *   …     …   storages
 *
 * storage
 *   0     2   number          in the record's tensor section
 *   2     1   state           0: an entry has the bytes, 1: digest, 2: left out, 3: was not kept
 *   3     1   reserved        0
 *   4     2   text length     state 3 only
 *   6     2   reserved        0
 *   8     8   size            in bytes
 *  16    32   digest          state 1 only: SHA-256 of the bytes
 *   …     …   text            state 3 only: why, in UTF-8
 * </pre>
 */
final class SliceLayout {

    static final int FORMAT = 1;
    static final String INFO = "slice.json";
    static final String TENSORS = "tensors/";
    /** A chunk of calls is ended when it has reached this. */
    static final int CHUNK_BYTES = 1 << 20;

    static final int MAX_RECORD_BYTES = 64 << 20;
    static final int MAX_NAME_BYTES = 255;
    static final int MAX_TEXT_BYTES = 1024;
    static final int MAX_INFO_BYTES = 16 << 20;
    static final int DIGEST_BYTES = 32;

    static final int KIND = 4;
    static final int PAYLOADS = 5;
    static final int STORAGE_COUNT = 6;
    static final int RECORD_LENGTH = 8;
    static final int NAME_LENGTH = 12;
    static final int RESERVED = 14;
    static final int HEADER_BYTES = 16;

    static final int STORAGE_BYTES = 16;

    /** Largest message: of one with as many storages as a record may have, each with its reason. */
    static final int MAX_MESSAGE_BYTES = HEADER_BYTES
            + MAX_NAME_BYTES
            + MAX_RECORD_BYTES
            + DIGEST_BYTES
            + Envelope.MAX_TENSORS * (STORAGE_BYTES + MAX_TEXT_BYTES);

    static final int MAX_CHUNK_BYTES = CHUNK_BYTES + 2 * MAX_MESSAGE_BYTES;

    private SliceLayout() {}

    /** The calls of a slice are in two parts. */
    enum Part {
        /** The selected calls. */
        CALLS,
        /** The calls that the selected ones depend on. */
        NEEDED;

        String chunkName(int number) {
            return String.format(Locale.ROOT, "%s/%08d", name().toLowerCase(Locale.ROOT), number);
        }

        boolean isNameOfChunk(String name) {
            return name.startsWith(name().toLowerCase(Locale.ROOT) + "/");
        }
    }

    static String tensorName(long id, SlicedMessage.Kind kind, int storage) {
        return TENSORS + MessageId.text(id) + "." + kind.name().toLowerCase(Locale.ROOT) + "." + storage;
    }
}
