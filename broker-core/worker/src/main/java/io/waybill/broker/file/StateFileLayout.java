package io.waybill.broker.file;

import io.waybill.api.state.StateStore;

/** Layout of the file of a store; {@code docs/reference/kept-state.md} has its bytes. */
final class StateFileLayout {

    /** {@code WSTATESV} as it reads in a file of little-endian numbers. */
    static final long MAGIC = 0x5653455441545357L;

    static final int FORMAT = 1;

    static final int MAGIC_AT = 0;
    static final int FORMAT_AT = 8;
    static final int CHECKSUM_AT = 12;
    static final int FILE_LENGTH_AT = 16;
    static final int WRITTEN_AT = 24;
    static final int ENTRY_COUNT_AT = 32;
    static final int EPOCH_AT = 36;
    static final int WORKER_AT = 40;
    static final int OWNER_LENGTH_AT = 42;
    static final int STORE_LENGTH_AT = 44;
    static final int RESERVED_AT = 46;
    static final int HEADER_LENGTH = 64;

    static final int ENTRY_LENGTH = 24;
    static final int MAX_KEY_BYTES = 4 * StateStore.MAX_KEY_LENGTH;
    /**
     * Max size of a file. A store's bytes are counted as those of its objects, which are at most this number in a file.
     */
    static final long MAX_FILE_BYTES = 2 * StateStore.MAX_BYTES;

    /** Size of the buffer in which a file is written and checked. */
    static final int PIECE_BYTES = 1 << 18;

    private StateFileLayout() {}
}
