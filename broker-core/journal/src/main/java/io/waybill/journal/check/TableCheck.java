package io.waybill.journal.check;

import io.waybill.host.SafeFiles;
import io.waybill.journal.Damage;
import io.waybill.journal.RollFile;
import io.waybill.journal.format.Frame;
import io.waybill.journal.format.QueueStructure;
import io.waybill.journal.format.WireBytes;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/**
 * Compares the entries of Chronicle's table with what it writes, byte by byte. The table is derived, and its owner
 * recreates it or frees its locks when it starts, so all findings are notes. {@link QueueStructure} reports what blocks
 * readers.
 *
 * <p>One thread, once.
 */
final class TableCheck {

    private static final int MAX_BYTES = 1 << 20;
    private static final int NAME_AT = Frame.LENGTH + 2;
    private static final String HIGHEST = "listing.highestCycle";
    private static final String LOWEST = "listing.lowestCycle";
    private static final long ANY = 0;
    private static final long NONE = -1;

    /** Names of the entries, with the value of an entry that can only have one. */
    private static final Map<String, Long> ENTRIES = Map.of(
            HIGHEST,
            ANY,
            LOWEST,
            ANY,
            "listing.modCount",
            ANY,
            "chronicle.write.lock",
            QueueStructure.LOCK_FREE,
            "chronicle.append.lock",
            QueueStructure.LOCK_FREE,
            "chronicle.lastIndexReplicated",
            NONE,
            "chronicle.lastAcknowledgedIndexReplicated",
            NONE,
            "chronicle.lastIndexMSynced",
            NONE,
            "normalisedEOFsTo",
            ANY);

    private final Path file;
    private final StructureFindings findings;
    private final ByteBuffer bytes;
    private final List<RollFile> rolled;

    private TableCheck(Path file, List<RollFile> rolled, SafeFiles files, StructureFindings findings)
            throws IOException {
        this.rolled = rolled;
        this.file = file;
        this.findings = findings;
        this.bytes = ByteBuffer.wrap(files.readSmall(file, MAX_BYTES)).order(ByteOrder.LITTLE_ENDIAN);
    }

    /**
     * Checks the table of a queue.
     *
     * @param rolled files of the queue that were begun, oldest first
     */
    static void check(Path directory, List<RollFile> rolled, SafeFiles files, StructureFindings findings) {
        try {
            new TableCheck(directory.resolve(QueueStructure.TABLE), rolled, files, findings).check();
        } catch (NoSuchFileException e) {
            // its owner creates one
        } catch (IOException e) {
            findings.noted(new Damage(directory.resolve(QueueStructure.TABLE), 0, 0, String.valueOf(e.getMessage())));
        }
    }

    private void check() {
        if (bytes.limit() < Frame.LENGTH || !Frame.isMeta(bytes.getInt(0))) {
            return;
        }
        int at = end(0);
        while (at >= 0 && at + Frame.LENGTH <= bytes.limit() && bytes.getInt(at) != 0) {
            at = checkEntry(at) ? end(at) : -1;
        }
        for (int behind = at; behind >= 0 && behind < bytes.limit(); behind++) {
            if (bytes.get(behind) != 0) {
                noted(behind, "something lies behind its entries");
                return;
            }
        }
    }

    /** Returns the position of the document after this one; -1 when there is none. */
    private int end(int at) {
        long behind = Frame.behind(at, Frame.bytes(bytes.getInt(at)));
        return behind <= bytes.limit() ? (int) behind : -1;
    }

    private boolean checkEntry(int at) {
        int end = end(at);
        int nameEnd = at + NAME_AT < bytes.limit() ? at + NAME_AT + bytes.get(at + NAME_AT - 1) : -1;
        if (end < 0 || nameEnd < at + NAME_AT || nameEnd > end) {
            noted(at, "the entry is none");
            return false;
        }
        String name = new String(bytes.array(), at + NAME_AT, nameEnd - at - NAME_AT, StandardCharsets.ISO_8859_1);
        byte[] expected =
                new WireBytes(at + Frame.LENGTH).event(name).align().put(0xa7).toBytes();
        int valueAt = at + Frame.LENGTH + expected.length;
        if (!ENTRIES.containsKey(name) || bytes.getInt(at) != expected.length + Long.BYTES) {
            noted(at, "the entry is none that the queue needs");
            return true;
        }
        for (int i = 0; i < expected.length; i++) {
            if (bytes.get(at + Frame.LENGTH + i) != expected[i]) {
                noted(at + Frame.LENGTH + i, "a byte of an entry is not what belongs there");
            }
        }
        checkValue(name, valueAt);
        return true;
    }

    private void checkValue(String name, int at) {
        long value = bytes.getLong(at);
        long expected = ENTRIES.get(name);
        if (name.equals(LOWEST) && !rolled.isEmpty() && value != rolled.get(0).cycle()) {
            noted(
                    at,
                    "a tailer begins with file " + value + ", and the oldest one is "
                            + rolled.get(0).cycle());
        } else if (name.equals(HIGHEST)
                && !rolled.isEmpty()
                && value != rolled.get(rolled.size() - 1).cycle()) {
            noted(
                    at,
                    "a tailer ends with file " + value + ", and the newest one is "
                            + rolled.get(rolled.size() - 1).cycle());
        } else if (expected == QueueStructure.LOCK_FREE && value != expected) {
            noted(at, name + " is held by process " + (int) value);
        } else if (expected == ANY ? value < -1 || value > Integer.MAX_VALUE : value != expected) {
            noted(at, name + " is " + value);
        }
    }

    private void noted(int at, String text) {
        findings.noted(new Damage(file, at, at, text + ": its owner sees to it when it starts"));
    }
}
