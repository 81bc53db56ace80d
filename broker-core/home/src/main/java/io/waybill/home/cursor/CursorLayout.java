package io.waybill.home.cursor;

/** Offsets in a {@code cursors} file, which {@link Cursors} describes. */
final class CursorLayout {
    static final String FILE = "cursors";
    static final long MAGIC = 0x53524f5352554357L; // "WCURSORS", little-endian
    static final int FORMAT = 1;

    static final int HEADER_BYTES = 4096;
    static final int SLOT_BYTES = 4096;
    static final int SLOTS = 512;
    static final int FILE_BYTES = HEADER_BYTES + SLOTS * SLOT_BYTES;
    static final int FREE = -1;
    static final long UNKNOWN = -1;

    static final int MAGIC_AT = 0;
    static final int FORMAT_AT = 8;
    static final int SLOTS_AT = 12;
    static final int OWNER_AT = 16;
    static final int EPOCH_AT = 24;
    static final int ASLEEP_AT = 64;
    static final int WAKE_AT_NS_AT = 128;
    static final int REQUESTS_ON_DISK_AT = 192;
    static final int RESPONSES_ON_DISK_AT = 200;
    static final int READERS_WAIT_AT = 208;
    static final int REQUESTS_NOTE_AT = 216;
    static final int RESPONSES_NOTE_AT = 240;
    static final int NEXT_COUNTER_AT = 264;
    static final int DIRECTORY_AT = 2048;

    static final int PEER_ID = 0;
    static final int REQUESTS_INDEX = 8;
    static final int RESPONSES_INDEX = 16;
    static final int REQUESTS_CONSUMED = 24;
    static final int REQUEST_BYTES_CONSUMED = 32;
    static final int REQUESTS_COMPLETED_BEFORE = 40;
    static final int REQUESTS_FILE = 48;
    static final int INCARNATION = 56;
    static final int RELEASED_COUNT = 64;
    static final int RING = 128;
    static final int RING_ENTRIES = 256;
    static final int RESPONSES_FROM = 2176;
    static final int REQUESTS_BEGIN = 2184;
    static final int ANNOUNCED = 2240; // in a cache line of its own: the peer polls it
    static final long ANNOUNCED_RESPONSE = 1L << Integer.SIZE;

    private CursorLayout() {}

    static int directoryEntry(int slot) {
        return DIRECTORY_AT + slot * Integer.BYTES;
    }

    static int slotOffset(int slot) {
        return HEADER_BYTES + slot * SLOT_BYTES;
    }

    static int ringEntry(long count) {
        return RING + (int) (count & (RING_ENTRIES - 1)) * Long.BYTES;
    }
}
