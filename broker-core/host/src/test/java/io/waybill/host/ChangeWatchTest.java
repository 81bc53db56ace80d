package io.waybill.host;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.Set;
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
    void reportsWhichEntriesWereTouchedOnce() throws IOException {
        Path first = Files.createDirectory(dir.resolve("1-ps1"));
        assertThat(changes.takeChanges()).isEqualTo(new ChangeWatch.Changes(Set.of(), true, false, false));

        Files.createFile(first.resolve("worker.json"));
        Files.setLastModifiedTime(dir, FileTime.fromMillis(1));
        assertThat(changes.await(0)).isTrue();
        assertThat(changes.takeChanges())
                .as("neither what is in an entry nor the directory itself is an entry")
                .isEqualTo(new ChangeWatch.Changes(Set.of(), false, false, true));

        Files.setLastModifiedTime(first, FileTime.fromMillis(1));
        assertThat(changes.await(0)).isTrue();
        Files.setLastModifiedTime(
                Files.createDirectory(dir.resolve("20-a_worker-of-longer-name")), FileTime.fromMillis(1));
        assertThat(changes.takeChanges())
                .isEqualTo(new ChangeWatch.Changes(Set.of("1-ps1", "20-a_worker-of-longer-name"), true, false, true));
        assertThat(changes.takeChanges()).isEqualTo(new ChangeWatch.Changes(Set.of(), false, false, false));
    }

    @Test
    void reportsThatItCouldNotNoteAll() throws IOException {
        long fits;
        try (BufferedReader limit = Files.newBufferedReader(Path.of("/proc/sys/fs/inotify/max_queued_events"))) {
            fits = Long.parseLong(limit.readLine());
        }
        Path first = Files.createDirectory(dir.resolve("1-ps1"));
        Path second = Files.createDirectory(dir.resolve("2-ps2"));
        for (long i = 0; i <= fits; i++) { // of one after the other, or the host merges them
            Files.setLastModifiedTime(i % 2 == 0 ? first : second, FileTime.fromMillis(i));
        }
        assertThat(changes.takeChanges().lost()).isTrue();
        assertThat(changes.takeChanges().lost()).isFalse();
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
