package io.waybill.syscall;

import io.waybill.api.CallException;
import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.dispatch.ExecutorSettings;
import io.waybill.dispatch.HandlerExecutor;
import io.waybill.dispatch.HandlerKey;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.HandlerSpec;
import io.waybill.dispatch.ParkingSettings;
import io.waybill.dispatch.Provider;
import io.waybill.home.Home;
import io.waybill.home.JoinOptions;
import io.waybill.host.Host;
import io.waybill.journal.Durability;
import io.waybill.journal.JournalSettings;
import io.waybill.journal.Roll;
import io.waybill.worker.Worker;
import io.waybill.worker.WorkerSettings;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** A worker with small queue files that responds with what it is sent, and counts the outcomes of its calls. */
final class Member implements AutoCloseable {

    /** One that is longer than a file, with its responses, so that each burst rolls. */
    static final int BURST = 600;

    private static final int PAYLOAD_BYTES = 2000;
    private static final int WINDOW = 50;
    private static final int MAX_FRUITLESS = 2;
    private static final Duration TIMEOUT = Duration.ofSeconds(4);
    /** What is later than that never comes. */
    private static final long NEVER_S = 15;

    /** What bundles of a subject handle. */
    static final String BUNDLED = "0x143";

    private static final MessageType TYPE = MessageType.userRequest(0x42);
    private static final MessageType BUNDLED_TYPE = MessageType.userRequest(0x43);
    private static final Duration SWAP_LIMIT = Duration.ofSeconds(5);
    private static final JournalSettings JOURNAL =
            new JournalSettings(Roll.HOURLY, 1 << 20, 64 << 10, 1 << 20).withFileBytes(JournalSettings.FILE_BYTES_MIN);

    private final HandlerRegistry registry;
    private final Worker worker;
    private List<HandlerRegistry.Registration> serving;
    private int version = 1;

    private Member(HandlerRegistry registry, Worker worker) {
        this.registry = registry;
        this.worker = worker;
        this.serving = List.of(registry.add(handler()));
    }

    static Member join(Path directory, String name, Durability durability) throws IOException {
        Host host = Host.real();
        HandlerRegistry registry = new HandlerRegistry(ParkingSettings.DEFAULT, host.threads(), host.clock());
        registry.expectMore();
        WorkerSettings settings = WorkerSettings.builder()
                .defaultTimeout(TIMEOUT)
                .drainLimit(Duration.ofSeconds(1))
                .journal(JOURNAL.withDurability(durability))
                .build();
        Worker worker = Worker.join(Home.open(directory, host), name, JoinOptions.defaults(), settings, registry);
        try {
            Member member = new Member(registry, worker);
            registry.expectNoMore();
            worker.ready(Map.of());
            return member;
        } catch (Throwable e) {
            worker.close();
            throw e;
        }
    }

    private HandlerSpec handler() {
        Provider provider = new Provider("echo", version++ + ".0.0");
        HandlerExecutor executor = registry.newExecutor(provider, ExecutorSettings.forProcessors(2));
        return new HandlerSpec(
                List.of(HandlerKey.parse("0x142")),
                (message, outbox) -> outbox.respond(message.payload()),
                false,
                provider,
                0,
                Member.class.getClassLoader(),
                executor);
    }

    /** Replaces the handler by another version. */
    void swap() {
        List<HandlerRegistry.Registration> next = List.of(registry.add(handler()));
        registry.withdraw(serving, SWAP_LIMIT);
        serving = next;
    }

    /** Makes calls, some at a time, until all have an outcome or will never have one. Ends early when none succeeds. */
    Tally calls(String to, int count) throws InterruptedException {
        return calls(to, TYPE, count);
    }

    /** Makes calls of what bundles handle, and counts besides which {@linkplain #version version} served. */
    Tally bundledCalls(String to, int count) throws InterruptedException {
        return calls(to, BUNDLED_TYPE, count);
    }

    /** How responses of a bundle's version are counted. */
    static String version(int version) {
        return "VERSION_" + version;
    }

    private Tally calls(String to, MessageType type, int count) throws InterruptedException {
        Tally tally = new Tally();
        int succeeded = 0;
        int fruitless = 0;
        for (int made = 0; made < count && fruitless < MAX_FRUITLESS; made += WINDOW) {
            window(to, type, Math.min(WINDOW, count - made), tally);
            fruitless = tally.count(Tally.OK) == succeeded ? fruitless + 1 : 0;
            succeeded = tally.count(Tally.OK);
        }
        return tally;
    }

    private void window(String to, MessageType type, int count, Tally tally) throws InterruptedException {
        List<CompletableFuture<Response>> open = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            try {
                open.add(worker.callAsync(Request.raw(to, type, ByteBuffer.allocate(PAYLOAD_BYTES), List.of())
                        .timeout(TIMEOUT)));
            } catch (CallException e) {
                tally.add(e.code().name(), e.getMessage());
            } catch (RuntimeException | Error e) {
                tally.add(Tally.UNTYPED, e.toString());
            }
        }
        for (CompletableFuture<Response> each : open) {
            await(each, tally);
        }
    }

    private static void await(CompletableFuture<Response> call, Tally tally) throws InterruptedException {
        try {
            try (Response response = call.get(NEVER_S, TimeUnit.SECONDS)) {
                tally.add(Tally.OK, "");
                if (response.payload().remaining() == 1) {
                    tally.add(version(response.payload().get(0)), "");
                }
            }
        } catch (TimeoutException e) {
            tally.add(Tally.NONE, "no outcome within " + NEVER_S + " s");
        } catch (ExecutionException e) {
            if (e.getCause() instanceof CallException known) {
                tally.add(known.code().name(), known.getMessage());
            } else {
                tally.add(Tally.UNTYPED, String.valueOf(e.getCause()));
            }
        }
    }

    /** What it serves by. */
    HandlerRegistry registry() {
        return registry;
    }

    /** Returns why it stopped by itself; empty while it has not. */
    String failure() {
        return worker.failure().isDone() ? worker.failure().join().getMessage() : "";
    }

    @Override
    public void close() throws IOException {
        worker.close();
    }
}
