package io.waybill.journal;

import io.waybill.host.SafeFiles;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;

/** File of a queue, by its name alone, without its content. Immutable; ordered by time. */
public record RollFile(Path path, Roll roll, int cycle) implements Comparable<RollFile> {

    private static final int MAX_FILES = 1_000_000;

    /** Returns the files of a queue, oldest first. Other names are skipped. */
    public static List<RollFile> in(Path directory, SafeFiles files) throws IOException {
        List<RollFile> found = new ArrayList<>();
        for (Path path : files.list(directory, MAX_FILES)) {
            for (Roll roll : Roll.values()) {
                OptionalInt cycle = roll.numberOf(path.getFileName().toString());
                if (cycle.isPresent()) {
                    found.add(new RollFile(path, roll, cycle.getAsInt()));
                }
            }
        }
        found.sort(null);
        return found;
    }

    /** Returns the oldest file of a queue; empty when it has none. */
    public static Optional<RollFile> oldest(Path directory, SafeFiles files) throws IOException {
        return in(directory, files).stream().findFirst();
    }

    /**
     * Returns whether the file is newer than the file of this position: when it is the oldest, the owner has removed
     * that one.
     */
    public boolean isAfter(RecordPosition position) {
        return compareTo(new RollFile(path, position.roll(), position.cycle())) > 0;
    }

    private long startMs() {
        return roll.startMs(cycle);
    }

    @Override
    public int compareTo(RollFile other) {
        int byTime = Long.compare(startMs(), other.startMs());
        return byTime != 0 ? byTime : roll.compareTo(other.roll);
    }
}
