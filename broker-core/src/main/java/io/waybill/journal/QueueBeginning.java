package io.waybill.journal;

import io.waybill.host.Host;
import io.waybill.host.SafeFiles;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Optional;

/**
 * Where a queue's writer begins in this life, so that no place and no id is ever given twice: neither those that a power cut took, nor those
 * that a peer may remember of them.
 *
 * <p><b>Threads.</b> The thread that joins. Call under the worker's lock: no other process may write here.
 */
public final class QueueBeginning {

    /** More calls than a worker makes in the time for which a kernel keeps what it has not written. */
    private static final long LOST_IDS = 1L << 32;

    private static final long NS_PER_MS = 1_000_000;

    private final Path directory;
    private final SafeFiles files;
    private final Optional<BootMark> before;
    private final BootMark now;

    private QueueBeginning(Path directory, SafeFiles files, Optional<BootMark> before, BootMark now) {
        this.directory = directory;
        this.files = files;
        this.before = before;
        this.now = now;
    }

    /**
     * Looks whether the host was started anew since the queue was written, and if so makes it whole again.
     *
     * @param generation which life of the worker this is
     * @param onDiskBefore the index before which records were on the disk, as the worker said in its last life; less than 1 when it did not
     * @throws IOException when a queue that is not whole could not be made so
     */
    public static QueueBeginning find(
            Path directory, JournalSettings settings, Host host, DiskSpace disk, long generation, long onDiskBefore)
            throws IOException {
        SafeFiles files = host.files();
        String boot = host.processes().self().bootId();
        Optional<BootMark> before = BootMark.read(directory, files);
        if (before.isPresent() && before.get().boot().equals(boot)) {
            return new QueueBeginning(directory, files, before, before.get());
        }
        if (generation <= 1 && before.isEmpty() && RollFile.in(directory, files).isEmpty()) {
            return new QueueBeginning(directory, files, before, new BootMark(boot, 0, 0));
        }
        boolean failed = before.map(mark -> mark.boot().equals(BootMark.FAILED)).orElse(false);
        PowerCut cut = new PowerCut(directory, settings, files, disk, onDiskBefore);
        RecoveredQueue recovered = failed ? cut.writeAnew() : cut.recover();
        int present = settings.roll().numberAt(host.clock().wallNs() / NS_PER_MS);
        int used = Math.max(
                present,
                Math.max(recovered.lastCycle(), before.map(BootMark::firstCycle).orElse(0)));
        // of files that were begun last not even the names need be left
        int cycle = used + 2 + (int) (PowerCut.MOST_UNWRITTEN_BYTES / settings.fileBytes());
        long counter = Math.max(
                        recovered.nextCounter(),
                        before.map(BootMark::firstCounter).orElse(0L))
                + LOST_IDS;
        return new QueueBeginning(directory, files, before, new BootMark(boot, cycle, counter));
    }

    /** The first file that may be written. */
    int firstCycle() {
        return now.firstCycle();
    }

    /** The least counter of an id that may be given. */
    public long firstCounter() {
        return now.firstCounter();
    }

    /** The queue was opened: from now on this boot has nothing to make whole. */
    void opened() throws IOException {
        if (before.isEmpty() && now.firstCycle() == 0) {
            now.writeUnsynced(directory, files);
        } else if (!before.equals(Optional.of(now))) {
            now.write(directory, files);
        }
    }

    /** A sync of the queue failed: the next life writes anew what is not on the disk. */
    public static void failed(Path directory, SafeFiles files) throws IOException {
        BootMark mark = BootMark.read(directory, files).orElse(new BootMark(BootMark.FAILED, 0, 0));
        new BootMark(BootMark.FAILED, mark.firstCycle(), mark.firstCounter()).writeUnsynced(directory, files);
    }
}
