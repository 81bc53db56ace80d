package io.waybill.bench.measure;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Times between the outcomes of calls, as far as they are long enough to be noticed.
 *
 * <p><b>Threads.</b> One at a time, with a happens-before edge between two.
 */
public final class Gaps {

    private static final long NOTICED_NS = 100_000;

    private final List<Gap> noticed = new ArrayList<>();
    private long lastNs = System.nanoTime();

    /** Time without an outcome, on the clock of {@link System#nanoTime}. */
    public record Gap(long fromNs, long toNs) {
        public long lengthNs() {
            return toNs - fromNs;
        }
    }

    /** Notes that a call has ended. */
    public void ended() {
        long nowNs = System.nanoTime();
        if (nowNs - lastNs >= NOTICED_NS) {
            noticed.add(new Gap(lastNs, nowNs));
        }
        lastNs = nowNs;
    }

    /** Writes them for another process of the host, one on each line. */
    public void write(Path file) throws IOException {
        Files.write(
                file, noticed.stream().map(gap -> gap.fromNs + " " + gap.toNs).toList());
    }

    public static List<Gap> read(Path file) throws IOException {
        List<Gap> gaps = new ArrayList<>();
        for (String line : Files.readAllLines(file)) {
            int space = line.indexOf(' ');
            gaps.add(new Gap(Long.parseLong(line.substring(0, space)), Long.parseLong(line.substring(space + 1))));
        }
        return gaps;
    }
}
