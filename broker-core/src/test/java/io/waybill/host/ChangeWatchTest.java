package io.waybill.host;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(30)
class ChangeWatchTest {
    private static final Host HOST = Host.real();
    private static final long SECOND = 1_000_000_000L;

    @TempDir
    Path dir;

    private ChangeWatch changes;

    @BeforeEach
    void open() throws IOException {
        changes = ChangeWatch.open(HOST.calls(), dir);
        assertThat(changes.await(0)).isFalse();
    }

    @AfterEach
    void close() {
        changes.close();
    }

    @Test
    void reportsEachChangeOfTheDirectoryOnce() throws IOException {
        assertThat(changes.seesDirectory()).isTrue();

        Path made = Files.createDirectory(dir.resolve("1-ps1"));
        assertThat(changes.await(10 * SECOND)).isTrue();
        assertThat(changes.await(0)).isFalse();

        Files.setLastModifiedTime(dir, FileTime.fromMillis(1));
        assertThat(changes.await(10 * SECOND)).isTrue();

        Files.delete(made);
        assertThat(changes.await(10 * SECOND)).isTrue();
        assertThat(changes.await(0)).isFalse();
    }

    @Test
    void reportsThatAProcessEndedUntilItsWatchIsClosed() throws Exception {
        Process child = new ProcessBuilder("sleep", "60").start();
        ProcessIdentity self = HOST.processes().self();
        ProcessIdentity identity = new ProcessIdentity(
                child.pid(),
                HostProcessesTest.startTimeOf(child.pid()),
                self.bootId(),
                self.pidNamespace(),
                self.uid());
        try (ProcessWatch watch = HOST.processes().watch(identity)) {
            assertThat(watch.endsWaitsOf(changes)).isTrue();
            assertThat(changes.await(0)).isFalse();
            child.destroyForcibly();
            assertThat(changes.await(10 * SECOND)).isTrue();
            assertThat(watch.liveness()).isEqualTo(Liveness.DEAD);
            assertThat(child.waitFor(10, TimeUnit.SECONDS)).isTrue();
        }
        assertThat(changes.await(0)).isFalse();
    }

    @Test
    void endsTheWaitWhenItIsClosed() throws Exception {
        CompletableFuture<Boolean> waiting = CompletableFuture.supplyAsync(() -> changes.await(20 * SECOND));
        changes.close();

        assertThat(waiting.get(10, TimeUnit.SECONDS)).isTrue();
        assertThat(changes.await(20 * SECOND)).isTrue();
    }

    @Test
    void watchesProcessesAloneWhereTheHostDoesNotReportTheDirectory() throws IOException {
        try (ChangeWatch without = ChangeWatch.open(HOST.calls(), dir.resolve("absent"))) {
            assertThat(without.seesDirectory()).isFalse();
            without.wake();
            assertThat(without.await(10 * SECOND)).isTrue();
            assertThat(without.await(0)).isFalse();
        }
    }
}
