package io.waybill.journal.index;

import io.waybill.host.Host;
import io.waybill.journal.JournalQueue;
import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.Optional;
import org.rocksdb.RocksDBException;

/**
 * Read-only snapshot of the worker's store, for a reader in any process; may be absent. One thread at a time.
 *
 * <p>Nothing is written and no lock is taken: the worker is not affected. Files that it removes while this is open stay
 * readable here.
 */
final class SharedStore implements Closeable {

    /** Max number of attempts to open: files may be removed between listing and opening them. */
    private static final int OPEN_TRIES = 5;

    private static final long REFRESH_NS = 1_000_000_000L;
    /**
     * Interval between reopens for each record behind the store. These records are read again when another store is
     * opened, in some 60 ns each: at most for 3 % of the time.
     */
    private static final long REFRESH_NS_PER_RECORD = 2_000;

    private final Host host;
    private final IndexDirectory directory;
    private IndexStore store; // null: there is no usable one
    private FileTime changedAt;
    private long openedAtNs;
    private long opened;
    private String problem = "";

    SharedStore(Path workerDirectory, Host host) {
        this.host = host;
        this.directory = new IndexDirectory(workerDirectory, host.files());
        open();
    }

    private void open() {
        opened++;
        openedAtNs = host.clock().monotonicNs();
        problem = "";
        if (!directory.exists()) {
            return;
        }
        for (int i = 0; i < OPEN_TRIES && store == null; i++) {
            try {
                changedAt = Files.getLastModifiedTime(directory.path(), LinkOption.NOFOLLOW_LINKS);
                Optional<IndexStore> found = IndexStore.openReadOnly(directory.path(), host.files());
                problem = "";
                if (found.isEmpty()) {
                    return;
                }
                store = found.get();
            } catch (IOException | RocksDBException e) {
                problem = directory.path() + " is not used: " + e.getMessage();
            }
        }
    }

    /**
     * Reopens when the worker has written, but not more than once a second.
     *
     * @param behind number of records of a queue behind those of the store, which will be read again
     */
    void refresh(long behind) throws IOException {
        long restNs = Math.max(REFRESH_NS, behind * REFRESH_NS_PER_RECORD);
        if (host.clock().monotonicNs() - openedAtNs < restNs || !directory.exists()) {
            return;
        }
        openedAtNs = host.clock().monotonicNs();
        if (!Files.getLastModifiedTime(directory.path(), LinkOption.NOFOLLOW_LINKS)
                .equals(changedAt)) {
            close();
            open();
        }
    }

    /** Discards a store with a false entry. */
    void distrust(String text) {
        close();
        opened++;
        problem = directory.path() + " is not used any more: " + text;
    }

    /** Returns a number that changes whenever another store, or none, is in use. */
    long opened() {
        return opened;
    }

    Optional<IndexStore> store() {
        return Optional.ofNullable(store);
    }

    /** Returns the record up to which a queue was indexed when the store was opened. */
    Optional<Checkpoint> checkpoint(JournalQueue queue) {
        if (store == null) {
            return Optional.empty();
        }
        try {
            return store.checkpoint(queue);
        } catch (RocksDBException e) {
            distrust(String.valueOf(e.getMessage()));
            return Optional.empty();
        }
    }

    String problem() {
        return problem;
    }

    @Override
    public void close() {
        if (store != null) {
            store.close();
            store = null;
        }
    }
}
