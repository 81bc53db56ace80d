package io.waybill.journal.append;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ConcurrentSkipListMap;

/**
 * Files that a journal's writer began or continued, for the components that sync, watch and remove them.
 *
 * <p><b>Threads.</b> {@link #add}, {@link #takeUnsynced} and {@link #removedBelow} with the lock that the journal is
 * appended to with; the rest by any.
 */
final class EnteredFiles {

    /**
     * File that the writer enters.
     *
     * @param key key by which the file system knows it; null when it is not there
     * @param leftAt position up to which the previous file is written; 0 when nothing is in it
     */
    record EnteredFile(Path path, int cycle, Object key, long leftAt) {}

    private final boolean isSynced;
    private final List<Path> unsynced = new ArrayList<>();
    private final Queue<EnteredFile> unwatched = new ConcurrentLinkedQueue<>();
    // the last message before each file
    private final ConcurrentSkipListMap<Integer, Long> lastIdBefore = new ConcurrentSkipListMap<>();
    private volatile int cycle;
    private volatile int keptFrom = Integer.MIN_VALUE; // files below this number are removed by this worker

    /**
     * Creates an empty list.
     *
     * @param isSynced whether {@link #takeUnsynced} is ever called
     */
    EnteredFiles(boolean isSynced) {
        this.isSynced = isSynced;
    }

    void add(Path file, int newCycle, long leftAt, long lastId) {
        unwatched.add(new EnteredFile(file, newCycle, QueueWatch.keyOf(file), leftAt));
        if (isSynced) {
            unsynced.add(file);
        }
        lastIdBefore.put(newCycle, lastId);
        cycle = newCycle;
    }

    /** Moves the files that were entered since the last time into {@code to}. */
    void takeUnsynced(List<Path> to) {
        if (!unsynced.isEmpty()) {
            to.addAll(unsynced);
            unsynced.clear();
        }
    }

    /** Returns the next file for the watch; null when there is none. */
    EnteredFile nextUnwatched() {
        return unwatched.poll();
    }

    /** Returns the number of the newest file. */
    int cycle() {
        return cycle;
    }

    /**
     * Returns the number of the file with a message; {@link Integer#MIN_VALUE} when it was written before the first of
     * these files.
     */
    int cycleOf(long id) {
        int found = cycle;
        for (Map.Entry<Integer, Long> file : lastIdBefore.entrySet()) {
            if (id > file.getValue()) {
                found = file.getKey();
            }
        }
        return lastIdBefore.isEmpty() || id > lastIdBefore.firstEntry().getValue() ? found : Integer.MIN_VALUE;
    }

    void keepFrom(int number) {
        keptFrom = Math.max(keptFrom, number);
    }

    /** Returns the number from which on files are kept. */
    int keptFrom() {
        return keptFrom;
    }

    void removedBelow(int number) {
        lastIdBefore.headMap(number).clear();
    }
}
