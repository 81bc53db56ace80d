package io.waybill.cli.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.home.Home;
import io.waybill.home.JoinOptions;
import io.waybill.host.Host;
import io.waybill.host.Threads;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A node that does not start leaves nothing open. */
@Timeout(60)
class NodeStartTest {

    private static final Threads REAL = Host.real().threads();

    @TempDir
    private Path directory;

    @BeforeEach
    void prepare() throws IOException {
        Files.createDirectories(directory.resolve("bundles"));
        Files.createDirectories(directory.resolve("conf"));
    }

    private Node start(Threads threads) throws IOException {
        return Node.start(
                Home.open(directory.resolve("home"), Host.real().withThreads(threads)),
                "node",
                JoinOptions.defaults(),
                directory,
                NodeConf.read(directory.resolve("conf")),
                Optional.of(directory.resolve("watched")));
    }

    private void assertNothingIsOpen() throws Exception {
        long untilNs = System.nanoTime() + TimeUnit.SECONDS.toNanos(10);
        while (!threadsLeft().isEmpty() && System.nanoTime() - untilNs < 0) {
            LockSupport.parkNanos(10_000_000);
        }
        assertThat(threadsLeft()).as("threads of the node that did not start").isEmpty();
        start(REAL).close(); // its name is free
    }

    /** Of its worker and of its framework, but for a pool that Felix keeps for a while. */
    private static Set<String> threadsLeft() {
        return Thread.getAllStackTraces().keySet().stream()
                .map(Thread::getName)
                .filter(name ->
                        name.startsWith("node-") || name.startsWith("Felix") && !name.startsWith("FelixResolver"))
                .collect(Collectors.toSet());
    }

    @Test
    void closesItsWorkerWhenTheFrameworkDoesNotStart() throws Exception {
        Files.delete(directory.resolve("bundles"));
        Files.createFile(directory.resolve("bundles"));
        assertThatThrownBy(() -> start(REAL)).hasMessageContaining("bundles");

        Files.delete(directory.resolve("bundles"));
        Files.createDirectories(directory.resolve("bundles"));
        assertNothingIsOpen();
    }

    @Test
    void closesItsFrameworkAndItsWorkerWhenItsLastStepThrows() throws Exception {
        Threads refusing = (name, body) -> {
            if (name.equals("waybill-served")) {
                throw new OutOfMemoryError("planted: unable to create native thread");
            }
            return REAL.start(name, body);
        };
        assertThatThrownBy(() -> start(refusing))
                .isInstanceOf(Threads.RefusedException.class)
                .hasMessageContaining("no thread for waybill-served");
        assertNothingIsOpen();
    }
}
