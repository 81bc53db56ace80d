package io.waybill.archive;

import io.waybill.host.Clock;
import io.waybill.host.Host;
import io.waybill.host.NativeFile;
import io.waybill.host.SafeFiles;
import io.waybill.journal.JournalQueue;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Disk usage of a worker's archive: its quota, for which the records of the oldest files are removed, and the space
 * that must stay free for the journals.
 *
 * <p><b>Threads.</b> For the archive's thread, but for {@link #usedBytes}.
 */
final class ArchiveSpace {

    private static final Logger LOG = LoggerFactory.getLogger(ArchiveSpace.class);
    private static final long RECOUNT_NS = 1_000_000_000;
    private static final long LOOK_BYTES = 8 << 20;

    private final Path workerDirectory;
    private final SafeFiles files;
    private final Clock clock;
    private final long quotaBytes;
    private final long keepFreeBytes;
    private long nextRecountNs = Long.MIN_VALUE;
    private List<Path> keptFor = List.of();
    private long freeBytes; // as of the last check, less what was written since
    private long writtenSince = Long.MAX_VALUE;
    private boolean isFull;
    private volatile long usedBytes; // written by the archive's thread, read by threads that query its status

    ArchiveSpace(Path workerDirectory, Host host, long quotaBytes, long keepFreeBytes) {
        this.workerDirectory = workerDirectory;
        this.files = host.files();
        this.clock = host.clock();
        this.quotaBytes = quotaBytes;
        this.keepFreeBytes = keepFreeBytes;
    }

    long usedBytes() {
        return usedBytes;
    }

    void written(long bytes) {
        usedBytes += bytes;
        writtenSince = writtenSince == Long.MAX_VALUE ? writtenSince : writtenSince + bytes;
    }

    /** Makes the next check read the disk. */
    void lookAgain() {
        writtenSince = Long.MAX_VALUE;
    }

    /** Notes whether there was no room on the disk, and logs it when that changes. */
    void setFull(boolean full) {
        if (full && !isFull) {
            LOG.error(
                    "There is no room for the archive beside what the journals in {} need: tensors are not archived until"
                            + " there is",
                    workerDirectory);
        } else if (isFull && !full) {
            LOG.info("There is room for the archive in {} again", workerDirectory);
        }
        isFull = full;
    }

    /** Returns whether the disk has this space in addition to the journals' needs. */
    boolean isOnDisk(long bytes) {
        if (writtenSince >= LOOK_BYTES || freeBytes - writtenSince - bytes < keepFreeBytes) {
            freeBytes = workerDirectory.toFile().getUsableSpace();
            writtenSince = 0;
        }
        return freeBytes - writtenSince - bytes >= keepFreeBytes;
    }

    /**
     * Returns whether this much more is within the quota; removes the records of the oldest unused files if necessary.
     */
    boolean isWithinQuota(long bytes, List<Path> inUse) throws IOException {
        if (bytes > quotaBytes) {
            return false;
        }
        if (nextRecountNs != Long.MIN_VALUE && usedBytes + bytes <= quotaBytes) {
            return true;
        }
        long nowNs = clock.monotonicNs();
        // a file that was in use a moment ago may release its records now
        if (nextRecountNs != Long.MIN_VALUE && nowNs - nextRecountNs < 0 && inUse.equals(keptFor)) {
            return false;
        }
        keptFor = inUse;
        nextRecountNs = nowNs + RECOUNT_NS;
        recount();
        makeRoom(bytes, inUse);
        return usedBytes + bytes <= quotaBytes;
    }

    private List<Path> all() throws IOException {
        List<Path> all = new ArrayList<>();
        for (JournalQueue queue : JournalQueue.values()) {
            all.addAll(ArchiveFiles.in(workerDirectory, queue, files));
        }
        all.sort(Comparator.comparing(path -> path.getFileName().toString()));
        return all;
    }

    private void recount() throws IOException {
        long sum = 0;
        for (Path path : all()) {
            sum += ArchiveFiles.size(path);
        }
        usedBytes = sum;
    }

    private void makeRoom(long bytes, List<Path> inUse) throws IOException {
        for (Path path : all()) {
            long size = ArchiveFiles.size(path);
            if (usedBytes + bytes > quotaBytes && size > ArchiveLayout.HEADER_BYTES && !inUse.contains(path)) {
                removeRecords(path);
                usedBytes -= size - ArchiveFiles.size(path);
            }
        }
    }

    private void removeRecords(Path path) throws IOException {
        try (NativeFile file = files.openOwnNative(path)) {
            Optional<ArchiveHeader> header = ArchiveWriter.read(new FileBytes(file));
            if (header.isPresent()) {
                ArchiveWriter.removeRecords(file, header.get());
                LOG.info("The records of {} were removed: the archive may have {} bytes", path, quotaBytes);
                return;
            }
        }
        files.remove(path);
        LOG.info("{}, which has no header, was removed: the archive may have {} bytes", path, quotaBytes);
    }
}
