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
 * Syncs a queue's records to the disk with its own calls: Chronicle's sync returns normally when the disk failed.
 *
 * <p><b>Threads.</b> {@link #begin} under the lock of {@link Journal#append}, all else by the one thread that syncs.
 * <b>Ownership.</b> Closes the files that it opened; the caller keeps the journal. <b>Errors.</b> The first failure is
 * final, and the sync is never repeated: a second one would succeed although the kernel has dropped what it could not
 * write.
 */
public final class QueueSync implements Closeable {

    private final Journal journal;
    private final SafeFiles files;
    private final List<Path> entered = new ArrayList<>();
    private NativeFile current; // the file that was written last; null before the first sync
    private long before;
    private long onDiskBefore;
    private boolean failed;

    private QueueSync(Journal journal, SafeFiles files) {
        this.journal = journal;
        this.files = files;
    }

    /**
     * Opens a syncer, after it has synced everything that was ever appended.
     *
     * @param onDiskBefore index before which all records are known to be on the disk; less than 1 when none are
     * @throws IOException when the sync fails
     */
    public static QueueSync open(Journal journal, SafeFiles files, Roll roll, long onDiskBefore) throws IOException {
        QueueSync sync = new QueueSync(journal, files); // has no open file before it syncs
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
        } catch (IOException | RuntimeException | Error e) {
            sync.close();
            throw e;
        }
    }

    /** Notes the records that were appended so far. Returns whether there is something to sync. */
    public boolean begin() {
        before = journal.endIndex();
        journal.enteredFiles().takeUnsynced(entered);
        return before != onDiskBefore || !entered.isEmpty();
    }

    /** Syncs the records that {@link #begin} noted. */
    public void sync() throws IOException {
        if (failed) {
            throw new IOException("an earlier sync of " + journal.directory() + " failed");
        }
        failed = true; // until the sync has succeeded
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
            return; // nothing was written into it, or all of it was released
        }
        if (current != null) {
            current.close();
        }
        current = next;
        current.dataSync();
    }

    /** Returns the index before which all records are on the disk. */
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
