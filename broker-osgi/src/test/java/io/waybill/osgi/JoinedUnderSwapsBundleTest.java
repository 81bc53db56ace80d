package io.waybill.osgi;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.CallException;
import io.waybill.api.Request;
import io.waybill.api.Value;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.testing.core.Waits;
import io.waybill.worker.Worker;
import io.waybill.worker.WorkerSettings;
import io.waybill.worker.Workers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * A bundle that joins a worker is updated under calls to that worker: what arrives between two versions waits for the next one. {@code -Dwaybill.joined.updates}
 * says how many updates.
 */
@Timeout(300)
class JoinedUnderSwapsBundleTest {

    private static final int UPDATES = Integer.getInteger("waybill.joined.updates", 4);
    private static final int CALLS_PER_S = 500;

    private static final String JOINS = """
            @Exclusive
            @Component
            public final class Joins {
                private final JoinedWorker joined;

                @Activate
                public Joins(@Reference Broker broker) {
                    joined = broker.join("joined", OptionalInt.empty(), List.of("text.who"),
                            (message, outbox) -> outbox.respond(Value.of("VERSION")));
                }

                @Deactivate
                public void leave() {
                    LEAVE
                }
            }
            """;

    @TempDir
    private Path directory;

    private final Map<String, Long> outcomes = new ConcurrentHashMap<>();
    private final AtomicLong ended = new AtomicLong();
    private volatile boolean stopped; // by the test; read by the calling thread
    private BundleForge forge;
    private Workers workers;
    private Worker caller;
    private TestNode node;

    @BeforeEach
    void start() throws Exception {
        forge = new BundleForge(Files.createDirectories(directory.resolve("forge")));
        workers = new Workers(directory);
        HandlerRegistry registry = workers.registry();
        Worker callee = workers.join("node", registry, WorkerSettings.builder().build());
        caller = workers.join("caller");
        node = new TestNode(directory.resolve("osgi"), registry, callee.interceptors(), callee.brokers());
    }

    @AfterEach
    void stop() throws Exception {
        stopped = true;
        node.close();
        workers.close();
    }

    private Path version(int version) throws Exception {
        String leave = version % 2 == 0 ? "joined.close();" : "// it leaves when its broker is revoked";
        return forge.bundle("org.acme.joins", version + ".0.0")
                .source(
                        "Joins",
                        JOINS.replace("VERSION", Integer.toString(version)).replace("LEAVE", leave))
                .build();
    }

    @Test
    void losesNoCall() throws Exception {
        Path[] versions = {version(1), version(2), version(3)};
        node.bundles().install(versions[0]);
        Thread load = new Thread(this::load, "load");
        load.start();
        for (int update = 1; update <= UPDATES; update++) {
            long before = ended.get();
            Waits.until("calls go on", () -> ended.get() > before + 20);
            node.bundles().update(versions[update % 2 + 1]);
        }
        long before = ended.get();
        Waits.until("calls go on", () -> ended.get() > before + 20);
        stopped = true;
        load.join();
        System.out.printf("%d updates of a bundle with a joined worker: %s%n", UPDATES, outcomes);
        assertThat(outcomes.keySet())
                .as("responses of the versions, and failures, in %d updates", UPDATES)
                .isSubsetOf("1", "2", "3");
    }

    private void load() {
        long startNs = System.nanoTime();
        while (!stopped) {
            long earlyNs = startNs + ended.get() * (1_000_000_000L / CALLS_PER_S) - System.nanoTime();
            if (earlyNs > 0) {
                LockSupport.parkNanos(earlyNs);
                continue;
            }
            try (var response = caller.call(Request.operation("joined", "text.who"))) {
                outcomes.merge(((Value.Text) response.value()).value(), 1L, Long::sum);
            } catch (CallException e) {
                outcomes.merge(e.getMessage(), 1L, Long::sum);
            }
            ended.incrementAndGet();
        }
    }
}
