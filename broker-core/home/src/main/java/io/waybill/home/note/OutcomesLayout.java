package io.waybill.home.note;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.zip.CRC32C;

/** Layout of the file {@code outcomes}: {@code docs/reference/outcomes.md}. */
final class OutcomesLayout {

    static final String FILE = "outcomes";
    static final int MAGIC = 0x54554f57; // WOUT
    static final int VERSION = 1;
    static final int HEADER = 16;
    static final int ENTRY = 24;
    /** Number of entries of the ring. */
    static final int MAX = 1 << 16;

    static final int MAX_BYTES = HEADER + MAX * ENTRY;

    private static final int ID = 0;
    private static final int AT = 8;
    private static final int CODE = 16;
    private static final int CHECKSUM = 20;

    private OutcomesLayout() {}

    static Path in(Path worker) {
        return worker.resolve(FILE);
    }

    static ByteBuffer header() {
        return allocate(HEADER).putInt(MAGIC).putInt(VERSION).putLong(0).flip();
    }

    static ByteBuffer allocate(int bytes) {
        return ByteBuffer.allocate(bytes).order(ByteOrder.LITTLE_ENDIAN);
    }

    /** Returns whether a file begins like a file of this version. */
    static boolean isKnown(ByteBuffer file) {
        return file.limit() >= HEADER && file.getInt(0) == MAGIC && file.getInt(4) == VERSION;
    }

    /** Returns the number of entries that fit in a file. */
    static int entries(ByteBuffer file) {
        return Math.min(MAX, (file.limit() - HEADER) / ENTRY);
    }

    static ByteBuffer entry(long id, long wallNs, int code) {
        ByteBuffer entry = allocate(ENTRY);
        entry.putLong(ID, id).putLong(AT, wallNs).putInt(CODE, code);
        return entry.putInt(CHECKSUM, checksum(entry, 0));
    }

    /** Returns whether an entry was written whole. */
    static boolean isWhole(ByteBuffer file, int entry) {
        return file.getInt(offset(entry) + CHECKSUM) == checksum(file, offset(entry));
    }

    static long id(ByteBuffer file, int entry) {
        return file.getLong(offset(entry) + ID);
    }

    static long wallNs(ByteBuffer file, int entry) {
        return file.getLong(offset(entry) + AT);
    }

    static int code(ByteBuffer file, int entry) {
        return file.getInt(offset(entry) + CODE);
    }

    static int offset(int entry) {
        return HEADER + entry * ENTRY;
    }

    private static int checksum(ByteBuffer bytes, int at) {
        CRC32C crc = new CRC32C();
        crc.update(bytes.duplicate().limit(at + CHECKSUM).position(at));
        return (int) crc.getValue();
    }
}
