package io.waybill.journal;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Set;

/**
 * The lock under which Chronicle opens its table: a writer alone, readers together. Chronicle waits for it for ten seconds; its holder may
 * have been stopped. Stateless.
 */
final class TableLock {

    /** Who wants to open the table. */
    enum Mode {
        READER,
        WRITER
    }

    private static final long POSITION = Long.MAX_VALUE - 1;

    private TableLock() {}

    /** What keeps somebody from opening the table now; empty text when nothing does, or there is no table. */
    static String problem(Path table, Mode mode) throws IOException {
        StandardOpenOption access = mode == Mode.READER ? StandardOpenOption.READ : StandardOpenOption.WRITE;
        try (FileChannel channel = FileChannel.open(table, Set.of(access, LinkOption.NOFOLLOW_LINKS));
                FileLock lock = channel.tryLock(POSITION, 1, mode == Mode.READER)) {
            return lock != null ? "" : table + ": another process has locked it";
        } catch (OverlappingFileLockException e) {
            return table + ": it is being opened in this process";
        } catch (NoSuchFileException e) {
            return "";
        }
    }
}
