package io.waybill.journal.index;

import io.waybill.api.MessageId;
import io.waybill.journal.JournalQueue;
import io.waybill.journal.JournalSettings;
import io.waybill.journal.WrittenQueue;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Random;
import java.util.stream.Stream;

/**
 * Measures the index of a journal of as many messages as the first argument says, half of them requests, in the directory that the
 * second one names and that must be new: the time to build it, its size, and how long lookups take. Prints one line for each.
 */
final class IndexBenchmark {

    private static final int LOOKUPS = 200_000;

    private IndexBenchmark() {}

    public static void main(String[] args) throws IOException {
        long each = Long.parseLong(args[0]) / 2;
        Path worker = Files.createDirectory(Path.of(args[1]));
        write(worker, each);
        build(worker, 2 * each);
        System.out.printf("index on disk   %.0f MB%n", bytes(worker.resolve("index")) / 1e6);
        long openNs = System.nanoTime();
        try (JournalIndex index = JournalIndex.open(worker, JournalSettings.defaults(), WrittenQueue.HOST)) {
            index.find(JournalQueue.REQUESTS, 0);
            index.find(JournalQueue.RESPONSES, 0);
            System.out.printf("open            %.1f ms%n", (System.nanoTime() - openNs) / 1e6);
            measure("cold request   ", index, JournalQueue.REQUESTS, each);
            measure("warm request   ", index, JournalQueue.REQUESTS, each);
            measure("cold response  ", index, JournalQueue.RESPONSES, each);
            measure("warm response  ", index, JournalQueue.RESPONSES, each);
            long startNs = System.nanoTime();
            index.search(JournalQueue.RESPONSES, 0);
            System.out.printf("search          %.0f ms for %d records%n", (System.nanoTime() - startNs) / 1e6, each);
        }
    }

    private static long responseId(long counter, long each) {
        return MessageId.of(
                WrittenQueue.PEER + (int) (counter % 5),
                (counter * 7919 + counter / 5) % (each * 2 + 1) << 5 | counter % 5);
    }

    private static void write(Path worker, long each) {
        long startNs = System.nanoTime();
        for (JournalQueue queue : JournalQueue.values()) {
            try (WrittenQueue out = WrittenQueue.open(queue.in(worker), JournalSettings.defaults())) {
                for (long counter = 0; counter < each; counter++) {
                    out.append(queue, idOf(queue, counter, each));
                }
            }
        }
        System.out.printf("write           %.1f s%n", (System.nanoTime() - startNs) / 1e9);
    }

    private static long idOf(JournalQueue queue, long counter, long each) {
        return queue == JournalQueue.REQUESTS ? MessageId.of(WrittenQueue.WORKER, counter) : responseId(counter, each);
    }

    private static void build(Path worker, long records) {
        long startNs = System.nanoTime();
        long maxNs = 0;
        long steps = 0;
        try (IndexBuilder builder = IndexBuilder.open(worker, JournalSettings.defaults(), WrittenQueue.HOST)) {
            builder.step(1);
            boolean behind = true;
            while (behind) {
                long stepNs = System.nanoTime();
                behind = builder.step(1000) == IndexBuilder.Progress.BEHIND;
                maxNs = Math.max(maxNs, System.nanoTime() - stepNs);
                steps++;
            }
        }
        double seconds = (System.nanoTime() - startNs) / 1e9;
        System.out.printf(
                "build           %.2f s, %.0f records/s, %d steps, longest %.1f ms%n",
                seconds, records / seconds, steps, maxNs / 1e6);
    }

    private static void measure(String what, JournalIndex index, JournalQueue queue, long each) throws IOException {
        Random random = new Random(7);
        long[] ns = new long[LOOKUPS];
        for (int i = 0; i < LOOKUPS; i++) {
            long id = idOf(queue, (long) (random.nextDouble() * each), each);
            long startNs = System.nanoTime();
            boolean found = index.find(queue, id).isPresent();
            ns[i] = System.nanoTime() - startNs;
            if (!found || index.record(queue).id() != id) {
                throw new AssertionError(queue + " " + MessageId.text(id));
            }
        }
        Arrays.sort(ns);
        System.out.printf(
                "%s p50 %.1f p99 %.1f p99.9 %.1f max %.0f us%n",
                what,
                ns[LOOKUPS / 2] / 1e3,
                ns[LOOKUPS * 99 / 100] / 1e3,
                ns[(int) (LOOKUPS * 999L / 1000)] / 1e3,
                ns[LOOKUPS - 1] / 1e3);
    }

    private static long bytes(Path directory) throws IOException {
        try (Stream<Path> files = Files.list(directory)) {
            return files.mapToLong(file -> file.toFile().length()).sum();
        }
    }
}
