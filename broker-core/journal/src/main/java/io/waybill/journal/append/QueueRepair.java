package io.waybill.journal.append;

import io.waybill.host.NativeFile;
import io.waybill.host.failure.HostFailures;
import io.waybill.journal.DiskSpace;
import io.waybill.journal.Roll;
import io.waybill.journal.format.QueueStructure;
import io.waybill.journal.format.RecordSearch;
import io.waybill.journal.read.TableLock;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Set;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Prepares a queue for its writer after a crash, a full disk or damage, without touching any record. A file whose
 * header was never published contains nothing; Chronicle would wait ten seconds for that header, repeatedly.
 * Chronicle's table lists the files and the locks with their processes: it is recreated at every opening, so that no
 * lock outlives its holder. For the owner, under its lock. Stateless.
 */
final class QueueRepair {

    private static final Logger LOG = LoggerFactory.getLogger(QueueRepair.class);

    private QueueRepair() {}

    static void prepare(Path directory, DiskSpace disk) throws IOException {
        if (!Files.isDirectory(directory, LinkOption.NOFOLLOW_LINKS)) {
            return;
        }
        try (DirectoryStream<Path> files = Files.newDirectoryStream(directory, "*" + Roll.FILE_SUFFIX)) {
            for (Path file : files) {
                if (QueueStructure.isUnpublished(file) && !RecordSearch.findsAny(file)) {
                    LOG.warn("{}: empty file left by a crash or a full disk; recreating it", file);
                    disk.remove(file);
                }
            }
        }
        Path table = directory.resolve(QueueStructure.TABLE);
        String problem = QueueStructure.tableProblem(directory);
        if (problem.isEmpty()) {
            problem = TableLock.problem(
                    table, TableLock.Mode.WRITER); // a reader that was stopped may hold it indefinitely
        }
        if (problem.isEmpty()) {
            freeLocks(table, QueueStructure.heldLocks(directory));
        } else {
            LOG.warn("{}; recreating it from the files", problem);
            disk.remove(table);
        }
    }

    /** Frees locks in place: readers that follow the queue have the table mapped. */
    private static void freeLocks(Path table, List<Long> held) throws IOException {
        if (held.isEmpty()) {
            return;
        }
        LOG.warn("{}: {} locks outlived the process that held them; they are freed", table, held.size());
        NativeFile.uninterrupted(() -> writeFree(table, held));
    }

    private static int writeFree(Path table, List<Long> held) throws IOException {
        try (FileChannel channel =
                FileChannel.open(table, Set.of(StandardOpenOption.WRITE, LinkOption.NOFOLLOW_LINKS))) {
            for (long at : held) {
                ByteBuffer free = ByteBuffer.allocate(Long.BYTES).order(ByteOrder.LITTLE_ENDIAN);
                channel.write(free.putLong(0, QueueStructure.LOCK_FREE), at);
            }
            return held.size();
        }
    }

    /**
     * Returns what another process changed in a queue's files, as far as it can be found after an exception that only
     * such a change can cause.
     */
    static String foreignChange(Path directory, Path file, Exception e) {
        try {
            String problem = QueueStructure.tableProblem(directory);
            if (!problem.isEmpty()) {
                return problem;
            }
            if (!QueueStructure.heldLocks(directory).isEmpty()) {
                return directory.resolve(QueueStructure.TABLE) + ": another process has written to its locks: "
                        + HostFailures.text(e);
            }
        } catch (IOException again) {
            e.addSuppressed(again);
        }
        return file + ": " + HostFailures.text(e);
    }
}
