package io.waybill.broker.file;

import io.waybill.api.state.StateStore;

/**
 * Layout of the file of a store. All numbers are little-endian, and unsigned unless it says otherwise.
 *
 * <pre>
 * header
 * offset size field
 *   0     8   magic           the letters {@code WSTATESV}
 *   8     4   format          1
 *  12     4   checksum        CRC-32C of the entries, and then of all before them, these four bytes counted as 0
 *  16     8   file length
 *  24     8   written         wall clock, nanoseconds since 1970, signed
 *  32     4   entry count     0..100,000
 *  36     4   epoch           of the worker, when it wrote this
 *  40     2   worker          its id
 *  42     2   owner length    1..150
 *  44     2   store length    1..64
 *  46    18   reserved        0
 *
 * owner       its name in UTF-8
 * store       its name in UTF-8
 *
 * entry, one behind the other, least recently used first; the last ends the file
 *   0     8   age             nanoseconds since its value was set, when the file was written
 *   8     8   idle            nanoseconds since it was used
 *  16     4   value length    1 or more
 *  20     2   key length      1..1024
 *  22     2   reserved        0
 *  24         key             UTF-8
 *             value           as a response has it
 * </pre>
 */
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
    /** A store's bytes are counted as those of its objects, which are at most so many in a file. */
    static final long MAX_FILE_BYTES = 2 * StateStore.MAX_BYTES;

    /** Size of the buffer in which a file is written and checked. */
    static final int PIECE_BYTES = 1 << 18;

    private StateFileLayout() {}
}
