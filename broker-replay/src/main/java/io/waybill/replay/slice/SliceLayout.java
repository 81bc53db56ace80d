package io.waybill.replay.slice;

import io.waybill.api.MessageId;
import io.waybill.wire.Envelope;
import java.util.Locale;

/** The layout of a slice, a zip file whose entries are stored; {@code docs/reference/slice.md} has its entries and their bytes. */
final class SliceLayout {

    static final int FORMAT = 1;
    static final String INFO = "slice.json";
    static final String TENSORS = "tensors/";
    /** Size at which a chunk of calls is closed. */
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

    /** Max size of a message: one with as many storages as a record may have, each with its reason. */
    static final int MAX_MESSAGE_BYTES = HEADER_BYTES
            + MAX_NAME_BYTES
            + MAX_RECORD_BYTES
            + DIGEST_BYTES
            + Envelope.MAX_TENSORS * (STORAGE_BYTES + MAX_TEXT_BYTES);

    static final int MAX_CHUNK_BYTES = CHUNK_BYTES + 2 * MAX_MESSAGE_BYTES;

    private SliceLayout() {}

    /** The two parts of a slice's calls. */
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
