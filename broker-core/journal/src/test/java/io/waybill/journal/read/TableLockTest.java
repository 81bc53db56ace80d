package io.waybill.journal.read;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The lock of a queue's table, which several workers of one process open. */
@Timeout(60)
class TableLockTest {

    /** Longer than another process is waited for. */
    private static final long HELD_MS = 400;

    @TempDir
    Path directory;

    @ParameterizedTest
    @EnumSource
    void waitsForOtherThreadsOfThisProcess(TableLock.Mode mode) throws Exception {
        Path table = Files.createFile(directory.resolve("metadata.cq4t"));
        try (FileChannel channel = FileChannel.open(table, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            FileLock held = channel.lock();
            CompletableFuture<Void> released = CompletableFuture.runAsync(
                    () -> release(held), CompletableFuture.delayedExecutor(HELD_MS, TimeUnit.MILLISECONDS));
            assertThat(TableLock.problem(table, mode)).isEmpty();
            released.join();
        }
    }

    private static void release(FileLock held) {
        try {
            held.release();
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }
}
