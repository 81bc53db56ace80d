package io.waybill.system;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.host.Host;
import io.waybill.process.ChildJvm;
import io.waybill.testing.core.Waits;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The wall clocks of processes on one host agree, so that events of several workers are in one timeline. */
@Timeout(value = 5, unit = TimeUnit.MINUTES)
class HostClocksSystemTest {

    private static final int PROCESSES = 3;
    private static final long MAX_DIFFERENCE_NS = 50_000;
    private static final int READINGS = 10_000;

    /** Prints how far the wall clock of its process is ahead of the monotonic clock, which all processes share. */
    static final class Main {

        private Main() {}

        public static void main(String[] arguments) throws Exception {
            var clock = Host.real().clock();
            long best = Long.MAX_VALUE;
            long ahead = 0;
            for (int i = 0; i < READINGS; i++) {
                long before = System.nanoTime();
                long wallNs = clock.wallNs();
                long width = System.nanoTime() - before;
                if (width < best) {
                    best = width;
                    ahead = wallNs - before - width / 2;
                }
            }
            System.out.println(ahead);
            while (System.in.read() >= 0) { // until the test ends
                continue;
            }
        }
    }

    @Test
    void agreeWithinFiftyMicroseconds() throws Exception {
        List<String> ahead = new CopyOnWriteArrayList<>();
        List<ChildJvm> children = new ArrayList<>();
        try {
            for (int i = 0; i < PROCESSES; i++) {
                children.add(ChildJvm.start("clock", List.of(), Main.class, List.of(), ahead::add));
            }
            Waits.until(() -> "expected " + PROCESSES + " readings, found " + ahead, () -> ahead.size() == PROCESSES);
        } finally {
            children.forEach(ChildJvm::kill);
        }
        long[] sorted = ahead.stream().mapToLong(Long::parseLong).sorted().toArray();
        assertThat(sorted[PROCESSES - 1] - sorted[0]).as("%s", ahead).isLessThanOrEqualTo(MAX_DIFFERENCE_NS);
    }
}
