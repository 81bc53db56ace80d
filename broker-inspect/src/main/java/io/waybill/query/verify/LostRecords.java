package io.waybill.query.verify;

import io.waybill.host.SafeFiles;
import io.waybill.journal.JournalQueue;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Records of a worker that were lost before its journal was copied to this home, listed in the file
 * {@code lost-records} of its directory: a line {@code requests 17 19} for each range of numbers. These records are
 * missing without being damage of this home.
 *
 * <p>One thread at a time.
 */
public final class LostRecords {

    private static final String FILE = "lost-records";
    private static final int MAX_BYTES = 1 << 20;
    private static final int MAX_RANGES = 10_000;
    private static final Pattern LINE =
            Pattern.compile("(requests|responses) (0|[1-9][0-9]{0,17}) (0|[1-9][0-9]{0,17})");

    /** Numbers of records, both ends included. */
    public record Range(long first, long last) {}

    private final Map<JournalQueue, List<Range>> ranges = new EnumMap<>(JournalQueue.class);

    /** Adds a range after all earlier ones. Beyond 10,000 ranges the last one grows. */
    public void add(JournalQueue queue, long first, long last) {
        List<Range> all = ranges.computeIfAbsent(queue, any -> new ArrayList<>());
        if (all.size() == MAX_RANGES) {
            all.add(new Range(all.remove(MAX_RANGES - 1).first(), last));
        } else {
            all.add(new Range(first, last));
        }
    }

    public List<Range> of(JournalQueue queue) {
        return List.copyOf(ranges.getOrDefault(queue, List.of()));
    }

    /** Returns whether all records of a range are known to be lost. */
    boolean covers(JournalQueue queue, long first, long last) {
        return ranges.getOrDefault(queue, List.of()).stream()
                .anyMatch(range -> range.first() <= first && range.last() >= last);
    }

    boolean isEmpty(JournalQueue queue) {
        return !ranges.containsKey(queue);
    }

    /** Reads the list of a worker. An unreadable file counts as empty. */
    static LostRecords read(Path workerDirectory, SafeFiles files) {
        LostRecords read = new LostRecords();
        try {
            String text =
                    new String(files.readSmall(workerDirectory.resolve(FILE), MAX_BYTES), StandardCharsets.ISO_8859_1);
            text.lines()
                    .map(LINE::matcher)
                    .filter(Matcher::matches)
                    .forEach(line -> queue(line.group(1))
                            .ifPresent(queue ->
                                    read.add(queue, Long.parseLong(line.group(2)), Long.parseLong(line.group(3)))));
        } catch (NoSuchFileException e) {
            // the journal was written here
        } catch (IOException e) {
            return new LostRecords();
        }
        return read;
    }

    private static Optional<JournalQueue> queue(String name) {
        for (JournalQueue queue : JournalQueue.values()) {
            if (queue.directoryName().equals(name)) {
                return Optional.of(queue);
            }
        }
        return Optional.empty();
    }

    /** Writes the list to a worker's directory, unless it is empty. */
    public void write(Path workerDirectory, SafeFiles files) throws IOException {
        if (ranges.isEmpty()) {
            return;
        }
        StringBuilder text = new StringBuilder("# records that were lost before this journal was brought here\n");
        ranges.forEach((queue, all) -> all.forEach(range -> text.append(queue.directoryName())
                .append(' ')
                .append(range.first())
                .append(' ')
                .append(range.last())
                .append('\n')));
        files.replaceAtomically(workerDirectory.resolve(FILE), text.toString().getBytes(StandardCharsets.ISO_8859_1));
    }
}
