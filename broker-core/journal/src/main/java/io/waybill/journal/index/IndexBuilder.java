package io.waybill.journal.index;

import io.waybill.host.Host;
import io.waybill.journal.JournalQueue;
import io.waybill.journal.JournalSettings;
import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.rocksdb.RocksDBException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Builds the index of a worker's own queues in the background: it reads appended records and never blocks a caller.
 *
 * <p>The index is derived. If it is damaged, belongs to other queues or is not an index, it is removed and rebuilt from
 * the queues. A failed write (a full disk) is retried later; meanwhile {@link JournalIndex} reads the queues
 * themselves.
 *
 * <p><b>Threads.</b> One calls {@link #step} and {@link #close}; RocksDB adds two of its own, at low priority.
 * <b>Errors.</b> None are thrown: no call must fail for the index. They are logged, and {@link #problem()} returns the
 * latest.
 */
public final class IndexBuilder implements Closeable {

    /** Progress of the index. */
    public enum Progress {
        /** All records that were in the queues are in the index. */
        CAUGHT_UP,
        /** More records are to be indexed. */
        BEHIND,
        /** The index can't be written at present; the write will be retried. */
        SUSPENDED
    }

    private static final Logger LOG = LoggerFactory.getLogger(IndexBuilder.class);
    private static final long RETRY_NS = 30_000_000_000L;
    /**
     * Number of unwritten entries beyond which they are flushed to files when idle, so that readers find them there.
     */
    private static final long FLUSH_RECORDS = 20_000;

    private final Path workerDirectory;
    private final Host host;
    private final JournalSettings settings;
    private final IndexDirectory directory;
    private final List<QueueIndexing> queues = new ArrayList<>();
    private IndexStore store; // null while suspended
    private long retryAtNs;
    private long unflushed;
    private long rebuilds;
    private String problem = "";

    private IndexBuilder(Path workerDirectory, Host host, JournalSettings settings) {
        this.workerDirectory = workerDirectory;
        this.host = host;
        this.settings = settings;
        this.directory = new IndexDirectory(workerDirectory, host.files());
    }

    /**
     * Prepares a builder.
     *
     * @param workerDirectory directory of this process's own worker: no other process may write there
     */
    public static IndexBuilder open(Path workerDirectory, JournalSettings settings, Host host) {
        IndexBuilder builder = new IndexBuilder(workerDirectory, host, settings);
        builder.retryAtNs = host.clock().monotonicNs();
        return builder;
    }

    /** Returns whether there is an index, of this worker or of an earlier incarnation. */
    public boolean exists() {
        return directory.exists();
    }

    /** Indexes at most this number of records of each queue. Takes about a microsecond for each. */
    public Progress step(int maxRecords) {
        if (store == null && !start()) {
            return Progress.SUSPENDED;
        }
        try {
            boolean behind = false;
            for (QueueIndexing queue : queues) {
                int done = queue.step(maxRecords, store);
                unflushed += done;
                behind |= done == maxRecords;
            }
            if (!behind && unflushed >= FLUSH_RECORDS) {
                store.flush();
                unflushed = 0;
            }
            return behind ? Progress.BEHIND : Progress.CAUGHT_UP;
        } catch (IOException | RocksDBException e) {
            suspend("the index can't be written: " + e.getMessage(), e);
            return Progress.SUSPENDED;
        }
    }

    private boolean start() {
        long nowNs = host.clock().monotonicNs();
        if (nowNs - retryAtNs < 0) {
            return false;
        }
        try {
            if (openIndex()) {
                return true;
            }
            directory.clear();
            rebuilds++;
            if (openIndex()) {
                return true;
            }
            suspend("a new index can't be opened: " + problem, null);
        } catch (IOException e) {
            suspend("the index can't be rebuilt: " + e.getMessage(), e);
        }
        return false;
    }

    /** Opens the existing index; false when it is unusable. */
    private boolean openIndex() {
        try {
            directory.prepare();
            store = IndexStore.openOwn(directory.path());
            for (JournalQueue queue : JournalQueue.values()) {
                Optional<QueueIndexing> indexing =
                        QueueIndexing.open(queue, workerDirectory, host.files(), settings, store);
                if (indexing.isEmpty()) {
                    return useless("it belongs to other " + queue.directoryName() + " than there are", null);
                }
                queues.add(indexing.get());
            }
            return true;
        } catch (IOException | RocksDBException e) {
            return useless(e.getMessage(), e);
        } catch (RuntimeException | Error e) { // the next attempt opens it again, and RocksDB admits one at a time
            release();
            throw e;
        }
    }

    private boolean useless(String text, Exception cause) {
        problem = text;
        LOG.warn("The index in {} is unusable and is rebuilt from the queues: {}", directory.path(), text);
        LOG.debug("The index is of no use", cause);
        release();
        return false;
    }

    private void suspend(String text, Exception cause) {
        problem = text;
        LOG.warn("{}: {}; lookups read the queues until it is tried again", directory.path(), text);
        LOG.debug("The index is suspended", cause);
        release();
        retryAtNs = host.clock().monotonicNs() + RETRY_NS;
    }

    private void release() {
        queues.forEach(QueueIndexing::close);
        queues.clear();
        unflushed = 0;
        if (store != null) {
            store.close();
            store = null;
        }
    }

    /** Returns the number of times that an index was removed to be rebuilt. */
    public long rebuilds() {
        return rebuilds;
    }

    /** Returns the number of records that were indexed since the index was opened. */
    public long indexed() {
        return queues.stream().mapToLong(QueueIndexing::indexed).sum();
    }

    /** Returns the last problem; empty when there was none. */
    public String problem() {
        return problem;
    }

    /** Writes the indexed entries to the disk. Records that are not indexed yet wait for the next builder. */
    @Override
    public void close() {
        if (store != null && unflushed > 0) {
            try {
                store.flush();
            } catch (RocksDBException e) {
                LOG.warn("{}: the index could not be written out: {}", directory.path(), e.getMessage());
            }
        }
        release();
    }
}
