package io.waybill.journal.append;

import io.waybill.host.NativeFile;
import io.waybill.host.SafeFiles;
import io.waybill.journal.Roll;
import io.waybill.journal.RollFile;
import java.io.Closeable;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Brings what was appended to a queue to the disk by syncs of our own: Chronicle's return normally when the disk failed.
 *
 * <p><b>Threads.</b> {@link #begin} under the lock that {@link Journal#append} is called with, all else by the one thread that syncs.
 * <b>Ownership.</b> Closes what it opened; the journal is its maker's. <b>Errors.</b> The first failure is final: a second sync would
 * claim that all is well while the kernel has forgotten what it could not write. It is never repeated.
 */
public final class QueueSync implements Closeable {

    private final Journal journal;
    private final SafeFiles files;
    private final List<Path> entered = new ArrayList<>();
    private NativeFile current; // what was written last goes there; null before the first sync
    private long before;
    private long onDiskBefore;
    private boolean failed;

    private QueueSync(Journal journal, SafeFiles files) {
        this.journal = journal;
        this.files = files;
    }

    /**
     * Begins with all that was ever appended on the disk.
     *
     * @param onDiskBefore the index before which this is known already; less than 1 when nothing is known
     * @throws IOException when it can't be brought there
     */
    public static QueueSync open(Journal journal, SafeFiles files, Roll roll, long onDiskBefore) throws IOException {
        QueueSync sync = new QueueSync(journal, files);
        int first = onDiskBefore < 1 ? Integer.MIN_VALUE : roll.cycleOf(onDiskBefore);
        for (RollFile file : RollFile.in(journal.directory(), files)) {
            if (file.cycle() >= first) {
                sync.entered.add(file.path());
            }
        }
        try {
            sync.begin();
            sync.sync();
            return sync;
        } catch (IOException e) {
            sync.close();
            throw e;
        }
    }

    /** Takes notice of what was appended so far. Returns whether there is something to sync. */
    public boolean begin() {
        before = journal.endIndex();
        journal.enteredFiles().takeUnsynced(entered);
        return before != onDiskBefore || !entered.isEmpty();
    }

    /** Brings what {@link #begin} saw to the disk. */
    public void sync() throws IOException {
        if (failed) {
            throw new IOException("an earlier sync of " + journal.directory() + " failed");
        }
        failed = true; // until it went well
        if (current != null) {
            current.dataSync();
        }
        for (Path file : entered) {
            enter(file);
        }
        if (!entered.isEmpty()) {
            files.syncParent(entered.get(0));
            entered.clear();
        }
        onDiskBefore = before;
        failed = false;
    }

    private void enter(Path file) throws IOException {
        NativeFile next;
        try {
            next = files.openNative(file, Long.MAX_VALUE);
        } catch (NoSuchFileException e) {
            return; // nothing was written into it, or all of it was given up
        }
        if (current != null) {
            current.close();
        }
        current = next;
        current.dataSync();
    }

    /** The index before which all records are on the disk. */
    public long onDiskBefore() {
        return onDiskBefore;
    }

    @Override
    public void close() {
        if (current != null) {
            current.close();
        }
    }
}
