package io.waybill.journal.index;

import io.waybill.api.MessageId;
import io.waybill.host.SafeFiles;
import io.waybill.host.failure.CloseSteps;
import io.waybill.journal.Damage;
import io.waybill.journal.JournalQueue;
import io.waybill.journal.JournalSettings;
import io.waybill.journal.RecordPosition;
import io.waybill.journal.RollFile;
import io.waybill.journal.read.QueueReader;
import io.waybill.journal.read.QueueReader.Step;
import io.waybill.wire.RecordView;
import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.TreeSet;
import org.agrona.collections.Long2ObjectHashMap;
import org.rocksdb.RocksDBException;

/**
 * Finds the records of one queue by id: in memory for the records behind the store, then in the blocks of the queue
 * that did not fit in memory and that may contain the id, then in the store; and by reading the queue if the store is
 * wrong. Every result was read and checked. One thread at a time.
 */
final class QueueLookup implements Closeable {

    /** Max number of records that are remembered in addition to the store: about 40 MB. */
    static final int MAX_RECENT = 400_000;

    private final JournalQueue queue;
    private final SharedStore shared;
    private final SafeFiles files;
    private final JournalSettings settings;
    private final Path directory;
    private final int maxRecent;
    private final QueueReader found;
    private final Long2ObjectHashMap<RecordPosition> recent = new Long2ObjectHashMap<>();
    private final Long2ObjectHashMap<List<Long>> recentChildren = new Long2ObjectHashMap<>(); // by parent
    private QueueReader tail;
    private long storeInUse;
    private final PassedRecords passed = new PassedRecords(); // all records behind those of the store
    private boolean someForgotten; // some of these are not in memory
    private boolean lookedBehindEnd;
    private Damage damage; // null: none

    QueueLookup(
            JournalQueue queue,
            Path workerDirectory,
            SafeFiles files,
            JournalSettings settings,
            SharedStore shared,
            int maxRecent) {
        this.queue = queue;
        this.shared = shared;
        this.maxRecent = maxRecent;
        this.files = files;
        this.settings = settings;
        this.directory = queue.in(workerDirectory);
        this.found = QueueReader.open(directory, files, settings);
        this.tail = QueueReader.open(directory, files, settings);
    }

    /** Returns the newest whole record with this id, which {@link #record()} then shows. */
    Optional<RecordPosition> find(long id) throws IOException {
        catchUp();
        RecordPosition late = recent.get(id);
        if (late != null) {
            return reads(late, id) ? Optional.of(late) : search(id);
        }
        Optional<RecordPosition> forgotten = someForgotten ? searchPassed(id) : Optional.empty();
        if (forgotten.isPresent()) {
            return forgotten;
        }
        Optional<RecordPosition> stored = stored(id);
        if (storeInUse != shared.opened()) {
            return search(id); // the store failed
        }
        if (stored.isEmpty() || reads(stored.get(), id)) {
            return stored;
        }
        if (isRemoved(stored.get())) {
            return Optional.empty();
        }
        if (damage == null) {
            shared.distrust(directory + " does not have message " + MessageId.text(id) + " at " + stored.get());
        }
        return search(id);
    }

    /**
     * Returns the requests that a parent's handler sent, in the order of their ids.
     *
     * @return the ids; empty when only reading the queue can find them
     */
    Optional<List<Long>> children(long parent, int max) throws IOException {
        catchUp();
        Optional<IndexStore> store = shared.store();
        if (someForgotten) {
            return Optional.empty();
        }
        TreeSet<Long> children = new TreeSet<>(Long::compareUnsigned);
        try {
            for (IndexStore.Child child :
                    store.isPresent() ? store.get().children(parent, max) : List.<IndexStore.Child>of()) {
                if (reads(child.position(), child.id()) && found.record().parent() == parent) {
                    children.add(child.id());
                }
            }
        } catch (RocksDBException e) {
            shared.distrust(String.valueOf(e.getMessage()));
            return Optional.empty();
        }
        children.addAll(recentChildren.getOrDefault(parent, List.of()));
        return Optional.of(children.stream().limit(max).toList());
    }

    private Optional<RecordPosition> stored(long id) {
        Optional<IndexStore> store = shared.store();
        if (store.isEmpty()) {
            return Optional.empty();
        }
        try {
            return store.get().find(queue, id);
        } catch (RocksDBException e) {
            shared.distrust(String.valueOf(e.getMessage()));
            return Optional.empty();
        }
    }

    private boolean reads(RecordPosition position, long id) throws IOException {
        damage = null;
        if (!found.moveTo(position)) {
            return false;
        }
        Step step = found.next();
        if (step == Step.DAMAGED) {
            damage = found.damage();
        }
        return step == Step.RECORD && found.record().id() == id && found.offset() == position.offset();
    }

    /** Reads all records that were appended since the last time. */
    private void catchUp() throws IOException {
        if (someForgotten) {
            shared.refresh(passed.size());
        }
        if (storeInUse != shared.opened()) {
            beginBehindStore();
        }
        boolean more = true;
        while (more) {
            Step step = tail.skim();
            if (step == Step.RECORD) {
                remember();
            }
            more = step != Step.END || continuesBehindEnd();
        }
    }

    /** Returns whether a hole hid records. Called once: later the writer has moved beyond the former end. */
    private boolean continuesBehindEnd() throws IOException {
        if (lookedBehindEnd) {
            return false;
        }
        lookedBehindEnd = tail.searchBehindEndIfWritten() == Step.END;
        return !lookedBehindEnd;
    }

    private void remember() throws IOException {
        if (recent.size() >= maxRecent) {
            shared.refresh(passed.size());
            if (storeInUse != shared.opened()) {
                beginBehindStore();
                return;
            }
            recent.clear();
            recentChildren.clear();
            someForgotten = true;
        }
        recent.put(tail.record().id(), tail.position());
        passed.add(tail.record().id(), tail.position());
        long parent = tail.record().parent();
        if (parent != MessageId.NONE) {
            recentChildren
                    .computeIfAbsent(parent, none -> new ArrayList<>())
                    .add(tail.record().id());
        }
    }

    private void beginBehindStore() throws IOException {
        recent.clear();
        recentChildren.clear();
        passed.clear();
        someForgotten = false;
        lookedBehindEnd = false;
        tail.close();
        tail = QueueReader.open(directory, files, settings);
        Optional<Checkpoint> checkpoint = shared.checkpoint(queue);
        if (checkpoint.isPresent()
                && !QueueIndexing.moveBehind(tail, checkpoint.get())
                && !isRemoved(checkpoint.get().position())) {
            shared.distrust("it was made from other records than " + directory + " has");
            tail.close();
            tail = QueueReader.open(directory, files, settings);
        }
        storeInUse = shared.opened();
    }

    private boolean isRemoved(RecordPosition position) throws IOException {
        return RollFile.oldest(directory, files)
                .filter(oldest -> oldest.isAfter(position))
                .isPresent();
    }

    /** Reads the blocks that may contain the id. The newest of several records with this id counts. */
    private Optional<RecordPosition> searchPassed(long id) throws IOException {
        for (PassedRecords.Block block : passed.blocksWith(id)) {
            RecordPosition newest = null;
            found.moveTo(block.begin()); // or before the next file, if its own was removed
            int records = 0;
            for (Step step = found.skim(); step != Step.END && records < PassedRecords.BLOCK; step = found.skim()) {
                if (step == Step.RECORD) {
                    records++;
                    newest = found.record().id() == id ? found.position() : newest;
                }
            }
            if (newest != null && reads(newest, id)) {
                return Optional.of(newest);
            }
        }
        return Optional.empty();
    }

    /** Reads the whole queue. */
    Optional<RecordPosition> search(long id) throws IOException {
        Optional<RecordPosition> newest = Optional.empty();
        try (QueueReader all = QueueReader.open(directory, files, settings)) {
            Step step = all.skim();
            while (step != Step.END || all.searchBehindEnd() == Step.DAMAGED) {
                if (step == Step.RECORD && all.record().id() == id && reads(all.position(), id)) {
                    newest = Optional.of(all.position());
                }
                step = all.skim();
            }
        }
        if (newest.isPresent() && !reads(newest.get(), id)) {
            return Optional.empty();
        }
        return newest;
    }

    /** Returns the record of the last successful find or search. */
    RecordView record() {
        return found.record();
    }

    /** Returns the damage where the last lookup expected a record; null when there was none. */
    Damage damage() {
        return damage;
    }

    @Override
    public void close() {
        new CloseSteps().attempt(found::close).attempt(tail::close).finishUnchecked();
    }
}
