package io.waybill.host;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(30)
class FifoTest {
    private static final SafeFiles FILES = Host.real().files();
    private static final long SECOND = 1_000_000_000L;

    @TempDir
    Path dir;

    @Test
    void wakesWhoWaits() throws IOException {
        try (Fifo waiting = FILES.openOwnFifo(dir.resolve("fifo"));
                Fifo passing = FILES.openFifo(dir.resolve("fifo")).orElseThrow()) {
            assertThat(waiting.await(0)).isFalse();
            assertThat(passing.pass()).isTrue();
            assertThat(passing.pass()).isTrue();
            assertThat(waiting.await(10 * SECOND)).isTrue();
            assertThat(waiting.await(0)).isFalse();
        }
    }

    @Test
    void takesAFullPipeForEnough() throws IOException {
        try (Fifo waiting = FILES.openOwnFifo(dir.resolve("fifo"));
                Fifo passing = FILES.openFifo(dir.resolve("fifo")).orElseThrow()) {
            for (int i = 0; i < 200_000; i++) {
                assertThat(passing.pass()).isTrue();
            }
            assertThat(waiting.await(10 * SECOND)).isTrue();
            assertThat(waiting.await(0)).isFalse();
        }
    }

    @Test
    void saysThatNoThreadWaitsAnyMore() throws IOException {
        Fifo waiting = FILES.openOwnFifo(dir.resolve("fifo"));
        Fifo passing = FILES.openFifo(dir.resolve("fifo")).orElseThrow();
        waiting.close();

        assertThat(passing.pass()).isFalse();
        assertThat(FILES.openFifo(dir.resolve("fifo"))).isEmpty();
        try (Fifo again = FILES.openOwnFifo(dir.resolve("fifo"))) {
            assertThat(passing.pass()).isTrue();
            assertThat(again.await(10 * SECOND)).isTrue();
        }
        passing.close();
    }

    @Test
    void isPrivate() throws IOException {
        FILES.openOwnFifo(dir.resolve("fifo")).close();
        assertThat(Files.getPosixFilePermissions(dir.resolve("fifo")))
                .isEqualTo(PosixFilePermissions.fromString("rw-------"));
    }

    @Test
    void refusesAFileOrALinkInItsPlace() throws IOException {
        Path path = Files.createFile(dir.resolve("file"));
        assertThatThrownBy(() -> FILES.openOwnFifo(path)).hasMessage(path + ": expected a FIFO, found a regular file");
        Path link = Files.createSymbolicLink(dir.resolve("link"), Path.of("/dev/zero"));
        assertThatThrownBy(() -> FILES.openFifo(link)).hasMessage(link + ": expected a FIFO, found a symbolic link");
    }

    @Test
    void letsWhoWaitsGoWhenItIsClosed() throws Exception {
        Fifo waiting = FILES.openOwnFifo(dir.resolve("fifo"));
        CountDownLatch out = new CountDownLatch(1);
        Thread thread = new Thread(() -> {
            try {
                waiting.await(100 * SECOND);
            } catch (IllegalStateException closedBeforeItWaited) {
                // as good
            }
            out.countDown();
        });
        thread.start();
        waiting.close();
        waiting.close();

        assertThat(out.await(20, TimeUnit.SECONDS)).isTrue();
        assertThat(waiting.pass()).isFalse();
        assertThatThrownBy(() -> waiting.await(0)).isInstanceOf(IllegalStateException.class);
    }
}
