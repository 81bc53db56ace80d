package io.waybill.journal.format;

import io.waybill.host.SafeFiles;
import io.waybill.journal.Damage;
import io.waybill.journal.Roll;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Checks the files of a queue before Chronicle opens them: Chronicle waits for seconds on a damaged table, and faults
 * on a truncated file. A check reads a few hundred bytes of each file. Stateless.
 */
public final class QueueStructure {

    /** Name of Chronicle's table, which lists the files and holds its locks. Derived from the files. */
    public static final String TABLE = "metadata.cq4t";

    public static final int HEAD_BYTES = 4096;
    /** Size of Chronicle's mapping of its table. */
    public static final int TABLE_BYTES = 128 << 10;

    private static final int MAX_TABLE_ENTRY_BYTES = 256;
    private static final List<String> TABLE_HEADERS = tableHeaders();
    private static final String HIGHEST = "listing.highestCycle";
    private static final String LOWEST = "listing.lowestCycle";
    private static final List<String> TABLE_ENTRIES = List.of(HIGHEST, LOWEST, "listing.modCount");
    private static final String LOCK = ".lock";
    public static final long LOCK_FREE = Long.MIN_VALUE;
    private static final Pattern TABLE_ENTRY = Pattern.compile("\u00b9[\u0004-\u0040]([A-Za-z.]{4,64})");
    private static final List<String> FILE_HEADER = List.of("SCQStore", "writePosition", "SCQSIndexing");
    private static final String WRITE_POSITION = "writePosition";
    private static final String TABLE_START = "\u00b9\u0006header" + type("STStore");
    private static final String ZERO = "\u00a1\0";

    private QueueStructure() {}

    private static List<String> tableHeaders() {
        List<String> headers = new ArrayList<>();
        for (Roll roll : Roll.values()) {
            headers.add(tableHeader(roll));
        }
        return List.copyOf(headers);
    }

    /**
     * Returns the damage that prevents readers from mapping a queue. Neither a FIFO nor a link can block this.
     *
     * @throws IOException when the directory contains something unexpected
     */
    public static Optional<Damage> damage(Path directory, SafeFiles files) throws IOException {
        files.requireQueueDirectory(directory);
        Optional<Damage> damage = damage(directory);
        return damage.isEmpty() ? damage : damage(directory); // a live writer may have begun a file between two checks
    }

    /** Returns the problem that prevents Chronicle from reading the queue; empty when there is none. */
    public static String problem(Path directory) throws IOException {
        return damage(directory)
                .map(damage -> damage.file() + ": " + damage.text())
                .orElse("");
    }

    private static Optional<Damage> damage(Path directory) throws IOException {
        Table table = table(directory.resolve(TABLE));
        if (!table.problem.isEmpty()) {
            return Optional.of(new Damage(directory.resolve(TABLE), 0, 0, table.problem));
        }
        try (DirectoryStream<Path> files = Files.newDirectoryStream(directory, "*" + Roll.FILE_SUFFIX)) {
            for (Path file : files) {
                String problem = fileProblem(file, table);
                if (!problem.isEmpty()) {
                    return Optional.of(new Damage(file, 0, 0, problem));
                }
            }
        }
        return Optional.empty();
    }

    /**
     * Returns a problem of Chronicle's table, by itself or compared with the files; empty when there is none, or no
     * table.
     */
    public static String tableProblem(Path directory) throws IOException {
        Table table = table(directory.resolve(TABLE));
        if (!table.problem.isEmpty()) {
            return directory.resolve(TABLE) + ": " + table.problem;
        }
        try (DirectoryStream<Path> files = Files.newDirectoryStream(directory, "*" + Roll.FILE_SUFFIX)) {
            for (Path file : files) {
                if (!table.lists(file) && Files.size(file) > 0) {
                    return directory.resolve(TABLE) + ": it does not list " + file.getFileName();
                }
            }
        }
        return "";
    }

    /**
     * Returns the newest file that Chronicle's table lists; empty when there is no readable table, or it lists none.
     */
    public static Optional<Path> newestListed(Path directory) throws IOException {
        Table table = table(directory.resolve(TABLE));
        boolean lists = table != Table.NONE && table.problem.isEmpty() && table.highest >= 0;
        return lists ? Optional.of(directory.resolve(table.roll.fileName((int) table.highest))) : Optional.empty();
    }

    /** Returns why a file that had records can't have them any more; empty text when nothing shows that it was cut. */
    public static String cutProblem(Path file) throws IOException {
        ByteBuffer head;
        try {
            head = head(file);
        } catch (NoSuchFileException e) {
            return ""; // the mapped pages are still there
        }
        if (!hasFileHeader(head)) {
            return file + " has " + Files.size(file) + " bytes and no header of a queue's file";
        }
        String problem = sizeProblem(file, head);
        return problem.isEmpty() ? "" : file + ": " + problem;
    }

    /** Returns the offsets of held locks in the table: 8 bytes each, which include the holder's process id. */
    public static List<Long> heldLocks(Path directory) throws IOException {
        return table(directory.resolve(TABLE)).heldLocks;
    }

    /**
     * Returns whether a file's header was never published: Chronicle writes it as the last step when it begins a file.
     */
    public static boolean isUnpublished(Path file) throws IOException {
        return isUnpublished(head(file));
    }

    private static boolean isUnpublished(ByteBuffer head) {
        return head.limit() < Frame.LENGTH || Frame.isOpen(head.getInt(0));
    }

    private static boolean hasFileHeader(ByteBuffer head) {
        return hasHeader(head, header -> FILE_HEADER.stream().allMatch(header::contains));
    }

    /** Content of Chronicle's table of files and locks, as far as it lists the files. */
    private record Table(String problem, Roll roll, long lowest, long highest, List<Long> heldLocks) {

        /** Value for an empty table. */
        static final Table NONE = new Table("", Roll.DAILY, Long.MIN_VALUE, Long.MAX_VALUE, List.of());

        static Table damaged(String problem) {
            return new Table(problem, Roll.DAILY, 0, 0, List.of());
        }

        /** Returns whether the table lists files newer than this one. */
        boolean listsNewer(Path file) {
            for (Roll roll : Roll.values()) {
                OptionalInt number = roll.numberOf(file.getFileName().toString());
                if (number.isPresent() && this != NONE && number.getAsInt() < highest) {
                    return true;
                }
            }
            return false;
        }

        /** Returns whether the table lists the file, and not too many others: Chronicle searches for each of them. */
        boolean lists(Path file) {
            for (Roll roll : Roll.values()) {
                OptionalInt number = roll.numberOf(file.getFileName().toString());
                if (number.isPresent()
                        && (number.getAsInt() < lowest
                                || number.getAsInt() > highest
                                || this != NONE && highest - lowest > roll.maxNumbers())) {
                    return false;
                }
            }
            return true;
        }
    }

    private static Table table(Path file) throws IOException {
        ByteBuffer head;
        try {
            head = head(file);
        } catch (NoSuchFileException e) {
            return Table.NONE;
        }
        if (head.limit() < HEAD_BYTES) {
            return Table.damaged("a queue's table has " + TABLE_BYTES + " bytes, this one " + head.limit());
        }
        int roll = 0;
        while (roll < TABLE_HEADERS.size() && !hasTableHeader(head, TABLE_HEADERS.get(roll))) {
            roll++;
        }
        if (roll == TABLE_HEADERS.size()) {
            return Table.damaged("there is no header of a queue's table");
        }
        Map<String, Long> entries = new HashMap<>();
        List<Long> heldLocks = new ArrayList<>();
        int at = (int) Frame.behind(0, Frame.bytes(head.getInt(0)));
        while (at + Frame.LENGTH <= head.limit() && head.getInt(at) != 0) {
            int frame = head.getInt(at);
            int bytes = Frame.bytes(frame);
            boolean fits = !Frame.isOpen(frame)
                    && !Frame.isMeta(frame)
                    && bytes <= MAX_TABLE_ENTRY_BYTES
                    && at + Frame.LENGTH + bytes <= head.limit();
            Matcher entry = TABLE_ENTRY.matcher(fits ? text(head, at + Frame.LENGTH, bytes) : "");
            if (!entry.lookingAt()) {
                return Table.damaged("the entry at " + at + " is none");
            }
            int valueAt = at + Frame.LENGTH + bytes - Long.BYTES; // the value comes last
            entries.put(entry.group(1), head.getLong(valueAt));
            if (entry.group(1).endsWith(LOCK) && head.getLong(valueAt) != LOCK_FREE) {
                heldLocks.add((long) valueAt);
            }
            at = (int) Frame.behind(at, bytes);
        }
        if (!entries.keySet().containsAll(TABLE_ENTRIES)) {
            return Table.damaged("not all entries are there");
        }
        long highest = entries.get(HIGHEST);
        long lowest = entries.get(LOWEST);
        return highest == (int) highest && lowest == (int) lowest
                ? new Table("", Roll.values()[roll], lowest, highest, heldLocks)
                : Table.damaged("no files have the numbers " + lowest + ".." + highest);
    }

    private static boolean hasTableHeader(ByteBuffer head, String known) {
        return hasHeader(head, header -> isTableHeader(header, known));
    }

    private static String fileProblem(Path file, Table table) throws IOException {
        try {
            return fileProblem(file, head(file), table);
        } catch (NoSuchFileException e) {
            return ""; // its owner has removed it meanwhile
        }
    }

    private static String fileProblem(Path file, ByteBuffer head, Table table) throws IOException {
        if (head.limit() == 0) {
            // begun, and nothing written yet; a tailer would not pass it
            return table.listsNewer(file) ? "it is empty, and newer ones follow" : "";
        }
        if (!hasFileHeader(head)) {
            return isUnpublished(head) && isBeginning(file, table) ? "" : "there is no header of a queue's file";
        }
        if (!table.lists(file)) {
            return "the queue's table does not list it";
        }
        return sizeProblem(file, head);
    }

    /**
     * Returns whether the writer may be about to publish the header. Chronicle lists its newest file before that: a
     * reader skips a file without a header immediately. Older files, and files that hold records, have lost theirs.
     */
    private static boolean isBeginning(Path file, Table table) throws IOException {
        return !table.lists(file) || !table.listsNewer(file) && !RecordSearch.findsAny(file);
    }

    private static String sizeProblem(Path file, ByteBuffer head) throws IOException {
        long size = Files.size(file);
        long written = writePosition(head);
        return written < 0 || written > size - Frame.LENGTH
                ? "it has " + size + " bytes, and the last record is at " + written
                : "";
    }

    private static boolean hasHeader(ByteBuffer head, Predicate<String> isIt) {
        int frame = head.limit() < Frame.LENGTH ? 0 : head.getInt(0);
        if (Frame.isOpen(frame) || !Frame.isMeta(frame) || Frame.bytes(frame) > head.limit() - Frame.LENGTH) {
            return false;
        }
        return isIt.test(text(head, Frame.LENGTH, Frame.bytes(frame)));
    }

    /**
     * Returns the header of a table in Chronicle's binary wire. Chronicle waits for a lock if any byte differs, so all
     * of it is compared.
     */
    private static String tableHeader(Roll roll) {
        String format = roll.cycle().format();
        String cycle = name("length")
                + number(roll.cycle().lengthInMillis())
                + name("format")
                + (char) (0xe0 + format.length())
                + format
                + name("epoch")
                + ZERO;
        String meta = name("roll") + type("SCQSRoll") + block(cycle) + name("sourceId") + ZERO;
        String store = name("wireType") + type("WireType") + "\u00ecBINARY_LIGHT" + name("metadata") + type("SCQMeta")
                + block(meta);
        return store;
    }

    /** Compares the header of a table. Padding counts to the outermost block, so that its length differs. */
    private static boolean isTableHeader(String header, String store) {
        int padding = header.length() - TABLE_START.length() - 1 - Integer.BYTES - store.length();
        return padding >= 0 && padding < Integer.BYTES && header.startsWith(TABLE_START + block(store, padding));
    }

    private static String name(String text) {
        return (char) (0xc0 + text.length()) + text;
    }

    private static String type(String text) {
        return "\u00b6" + (char) text.length() + text;
    }

    private static String block(String content) {
        return block(content, 0);
    }

    private static String block(String content, int padding) {
        return "\u0082" + int32(content.length() + padding) + content;
    }

    /** Encodes a number in two bytes, if possible. */
    private static String number(int number) {
        return number <= 0xffff ? '\u00a2' + int32(number).substring(0, Short.BYTES) : '\u00a6' + int32(number);
    }

    private static String int32(int number) {
        ByteBuffer bytes = ByteBuffer.allocate(Integer.BYTES).order(ByteOrder.LITTLE_ENDIAN);
        return text(bytes.putInt(number), 0, Integer.BYTES);
    }

    /**
     * Returns the position of the last document, as Chronicle notes it: behind its name is an aligned list, of
     * capacity, count and numbers.
     */
    private static long writePosition(ByteBuffer head) {
        String header = text(head, 0, head.limit());
        int behindName = header.indexOf(WRITE_POSITION) + WRITE_POSITION.length();
        int list = (behindName + 1 + 7) & ~7; // one byte marks a list
        int first = list + 2 * Long.BYTES;
        return first + Long.BYTES <= head.limit() ? head.getLong(first) : -1;
    }

    private static String text(ByteBuffer bytes, int at, int length) {
        return new String(bytes.array(), at, length, StandardCharsets.ISO_8859_1);
    }

    private static ByteBuffer head(Path file) throws IOException {
        try (InputStream in = Files.newInputStream(file, LinkOption.NOFOLLOW_LINKS)) { // no interrupt closes a stream
            return ByteBuffer.wrap(in.readNBytes(HEAD_BYTES)).order(ByteOrder.LITTLE_ENDIAN);
        }
    }
}
