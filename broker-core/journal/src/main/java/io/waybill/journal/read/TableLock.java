package io.waybill.journal.read;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Set;
import java.util.concurrent.locks.LockSupport;

/**
 * Lock under which Chronicle opens its table: a writer alone, readers together. Chronicle waits for it for ten seconds;
 * its holder may have been stopped. Stateless.
 */
public final class TableLock {

    /** Purpose of opening the table, with the max number of tries while another process has it open. */
    public enum Mode {
        /** Opens to link to the peer, while others wait. */
        READER(10),
        /** Opens to recreate the table. */
        WRITER(50);

        private final int looks;

        Mode(int looks) {
            this.looks = looks;
        }
    }

    private static final long PAUSE_NS = 5_000_000;

    /**
     * Max number of tries while this process has the table open: for 2 s. Its threads make progress as this one does,
     * and many workers may have joined in it.
     */
    private static final int LOOKS_AT_OWN = 400;

    private static final String OWN = ": it is being opened in this process";

    private static final long POSITION = Long.MAX_VALUE - 1;

    private TableLock() {}

    /**
     * Returns why the table can't be opened; empty text when it can, or there is no table. A process that is just
     * opening it holds the lock for a moment, and is waited for: 50 ms for a reader, 250 ms for the writer, and 2 s for
     * other threads of this process.
     */
    public static String problem(Path table, Mode mode) throws IOException {
        String problem = look(table, mode);
        int others = 1; // tries that found another process
        for (int i = 1; i < LOOKS_AT_OWN && others < mode.looks && !problem.isEmpty(); i++) {
            LockSupport.parkNanos(PAUSE_NS);
            problem = look(table, mode);
            others += problem.endsWith(OWN) ? 0 : 1;
        }
        return problem;
    }

    private static String look(Path table, Mode mode) throws IOException {
        StandardOpenOption access = mode == Mode.READER ? StandardOpenOption.READ : StandardOpenOption.WRITE;
        try (FileChannel channel = FileChannel.open(table, Set.of(access, LinkOption.NOFOLLOW_LINKS));
                FileLock lock = channel.tryLock(POSITION, 1, mode == Mode.READER)) {
            return lock != null ? "" : table + ": another process has locked it";
        } catch (OverlappingFileLockException e) {
            return table + OWN;
        } catch (NoSuchFileException e) {
            return "";
        }
    }
}
