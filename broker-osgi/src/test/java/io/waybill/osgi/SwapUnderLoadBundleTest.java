package io.waybill.osgi;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.CallException;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.ResponseListener;
import io.waybill.home.Home;
import io.waybill.home.JoinOptions;
import io.waybill.host.Host;
import io.waybill.journal.JournalSettings;
import io.waybill.journal.Roll;
import io.waybill.testing.core.Waits;
import io.waybill.worker.Worker;
import io.waybill.worker.WorkerSettings;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A bundle is updated again and again while another worker calls it: nothing is lost, run twice or failed. */
@Timeout(240)
class SwapUnderLoadBundleTest {

    private static final int IN_FLIGHT = 64;
    private static final int UPDATES = 10;
    private static final String RAN = "waybill.test.ran";
    private static final WorkerSettings SETTINGS = WorkerSettings.builder()
            .defaultTimeout(Duration.ofSeconds(60))
            .journal(new JournalSettings(Roll.DAILY, 4 << 20, 1 << 20, 2 << 20))
            .build();

    @TempDir
    Path directory;

    private final Set<Long> ran = ConcurrentHashMap.newKeySet();
    private final AtomicLong twice = new AtomicLong();
    private final Map<String, Long> outcomes = new ConcurrentHashMap<>();
    private final AtomicLong calls = new AtomicLong();

    @Test
    void losesDoublesAndFailsNoCall() throws Exception {
        update(false);
    }

    @Test
    void losesDoublesAndFailsNoCallOfANonBlockingHandler() throws Exception {
        update(true);
    }

    private void update(boolean nonBlocking) throws Exception {
        BundleForge forge = new BundleForge(Files.createDirectories(directory.resolve("forge")));
        Path[] versions = {version(forge, "1.0.0", nonBlocking), version(forge, "2.0.0", nonBlocking)};
        System.getProperties().put(RAN, (java.util.function.LongConsumer) this::ran);
        Host host = Host.real();
        Home home = Home.open(directory.resolve("home"), host);
        try (TestNode node = new TestNode(directory.resolve("node"));
                Worker server = Worker.join(home, "ps0", JoinOptions.defaults(), SETTINGS, node.registry);
                Worker caller = Worker.join(home, "trainer0", JoinOptions.defaults(), SETTINGS, emptyRegistry(host))) {
            node.bundles().install(versions[0]);
            server.ready(Map.of());
            caller.ready(Map.of());
            Semaphore window = new Semaphore(IN_FLIGHT);
            Thread load = host.threads().start("load", () -> load(caller, window));
            for (int i = 1; i <= UPDATES; i++) {
                node.bundles().update(versions[i % 2]);
            }
            load.interrupt();
            load.join();
            assertThat(window.tryAcquire(IN_FLIGHT, 60, TimeUnit.SECONDS)).isTrue();
            Waits.until("every old class loader is collected while the worker lives", () -> {
                System.gc();
                return node.host.loaders().leaked(Duration.ZERO).isEmpty();
            });
        } finally {
            System.getProperties().remove(RAN);
        }
        assertThat(outcomes.keySet()).isSubsetOf("1.0.0", "2.0.0");
        assertThat(outcomes.values().stream().mapToLong(Long::longValue).sum()).isEqualTo(calls.get());
        assertThat(ran).hasSize((int) calls.get());
        assertThat(twice).hasValue(0);
        assertThat(calls.get()).isGreaterThan(IN_FLIGHT);
    }

    private static io.waybill.dispatch.HandlerRegistry emptyRegistry(Host host) {
        return new io.waybill.dispatch.HandlerRegistry(
                io.waybill.dispatch.ParkingSettings.DEFAULT, host.threads(), host.clock());
    }

    private static Path version(BundleForge forge, String version, boolean nonBlocking) throws Exception {
        return forge.bundle("org.acme.count", version)
                .source(
                        "Count",
                        "@Component @HandlesMessage(\"text.count\") " + (nonBlocking ? "@NonBlocking " : "")
                                + "public final class Count implements MessageHandler {"
                                + " public void handle(Message message, Outbox outbox) {"
                                + " ((java.util.function.LongConsumer) System.getProperties().get(\"" + RAN
                                + "\")).accept(message.id());"
                                + " outbox.response().text(\"version\", \"" + version + "\"); } }")
                .build();
    }

    private void ran(long id) {
        if (!ran.add(id)) {
            twice.incrementAndGet();
        }
    }

    private void load(Worker caller, Semaphore window) {
        Request request = Request.operation("ps0", "text.count");
        request.body().text("text", "to be or not to be");
        while (!Thread.currentThread().isInterrupted()) {
            try {
                window.acquire();
            } catch (InterruptedException e) {
                return;
            }
            calls.incrementAndGet();
            try {
                caller.call(request, new ResponseListener() {
                    @Override
                    public void onResponse(Response response) {
                        ended(response.text("version"), window);
                    }

                    @Override
                    public void onFailure(CallException failure) {
                        ended(failure.getMessage(), window);
                    }
                });
            } catch (CallException e) {
                ended(e.getMessage(), window);
            }
        }
    }

    private void ended(String outcome, Semaphore window) {
        outcomes.merge(outcome, 1L, Long::sum);
        window.release();
    }
}
