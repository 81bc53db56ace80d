package io.waybill.query;

import io.waybill.host.Host;
import io.waybill.journal.JournalQueue;
import io.waybill.journal.QueueFile;
import io.waybill.journal.QueueFiles;
import io.waybill.journal.read.QueueReader;
import io.waybill.journal.read.QueueReader.Step;
import io.waybill.query.stored.StoredJournal;
import io.waybill.query.stored.StoredJournals;
import io.waybill.wire.RecordView;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;

/**
 * Reader of the figures of each queue of a home, for one use.
 *
 * <p><b>Threads.</b> For one thread, which starts others if there are many journals, and waits for them. Each reads
 * whole journals.
 */
final class StatsReader {

    /** Number of journals per thread: fewer are read faster than a thread starts. */
    private static final int JOURNALS_PER_THREAD = 64;

    private static final int MAX_THREADS = 8;

    private final Host host;
    private final MessageFilter filter;
    private final List<StoredJournal> wanted;
    private final QueueStats[][] read; // by journal, then by queue; each is written by one thread
    private final AtomicInteger next = new AtomicInteger();
    private final AtomicReference<Throwable> failure = new AtomicReference<>();

    StatsReader(StoredJournals journals, MessageFilter filter) {
        this.host = journals.host();
        this.filter = filter;
        this.wanted = journals.all().stream()
                .filter(journal -> filter.takesWorker(journal.info().id()))
                .toList();
        this.read = new QueueStats[wanted.size()][];
    }

    /** Returns the figures of all queues, by worker id. */
    Stream<QueueStats> read() throws IOException {
        int more = Math.min(MAX_THREADS, Runtime.getRuntime().availableProcessors()) - 1;
        List<Thread> helpers = new ArrayList<>();
        for (int i = 0; i < Math.min(more, wanted.size() / JOURNALS_PER_THREAD); i++) {
            helpers.add(host.threads().start("waybill-stats-" + i, this::readJournals));
        }
        readJournals();
        for (Thread helper : helpers) {
            await(helper);
        }
        rethrow();
        return Arrays.stream(read).flatMap(Arrays::stream);
    }

    private void readJournals() {
        try {
            for (int i = next.getAndIncrement(); i < read.length; i = next.getAndIncrement()) {
                read[i] = stats(wanted.get(i));
            }
        } catch (IOException | RuntimeException | Error e) {
            failure.compareAndSet(null, e);
            next.set(read.length); // the others stop, too
        }
    }

    private static void await(Thread helper) throws IOException {
        try {
            helper.join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new InterruptedIOException("interrupted while journals were counted");
        }
    }

    private void rethrow() throws IOException {
        Throwable found = failure.get();
        if (found instanceof IOException e) {
            throw e;
        }
        if (found instanceof Error e) {
            throw e;
        }
        if (found instanceof RuntimeException e) {
            throw e;
        }
    }

    private QueueStats[] stats(StoredJournal journal) throws IOException {
        JournalQueue[] queues = JournalQueue.values();
        QueueStats[] stats = new QueueStats[queues.length];
        for (int i = 0; i < queues.length; i++) {
            stats[i] = stats(journal, queues[i]);
        }
        return stats;
    }

    private QueueStats stats(StoredJournal journal, JournalQueue queue) throws IOException {
        List<QueueFile> files = new QueueFiles(journal.path(), queue, host.files()).list();
        QueueStats.Sum sum = new QueueStats.Sum();
        try (QueueReader reader = journal.read(queue, files, host)) {
            Step step = reader.next();
            while (step != Step.END || (step = reader.searchBehindEnd()) != Step.END) {
                if (step == Step.RECORD) {
                    RecordView record = reader.record();
                    if (filter.takes(record) && filter.takesOperationOf(record)) {
                        sum.record(record.typeCode(), record.buffer().length(), record.sentNs());
                    }
                } else {
                    sum.damage();
                }
                step = reader.next();
            }
        }
        return sum.stats(journal.info(), queue, files);
    }
}
