package io.waybill.worker.call;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.Invocation;
import io.waybill.api.MessageType;
import io.waybill.api.RRef;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.injection.InjectionSettings;
import io.waybill.rref.Keeping;
import io.waybill.rref.RRefSettings;
import io.waybill.rref.control.ControlRetries;
import io.waybill.testing.core.Seeds;
import io.waybill.testing.core.Waits;
import io.waybill.worker.Worker;
import io.waybill.worker.WorkerSettings;
import io.waybill.worker.Workers;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.stream.LongStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** References that four real workers of one process create, share, fetch and give back at random, while all faults are injected at once. */
@Tag("ci")
@Timeout(240)
class InjectedReferencesTest {

    private static final int WORKERS = 4;
    private static final int OPERATIONS = 1_500;
    private static final int IN_FLIGHT = 64;
    private static final Duration LONG = Duration.ofSeconds(60);
    private static final MessageType[] CONTROL = {
        MessageType.RREF_FORK_REQUEST, MessageType.RREF_CHILD_ACCEPT, MessageType.RREF_USER_DELETE
    };
    private static final InjectionSettings ALL = InjectionSettings.NONE
            .withFail(CONTROL)
            .withDrop(CONTROL)
            .withDelay(MessageType.RREF_FORK_REQUEST, Duration.ofMillis(3))
            .withDelay(MessageType.SCRIPT_REMOTE_CALL, Duration.ofMillis(2))
            .withDelay(MessageType.SCRIPT_RREF_FETCH_CALL, Duration.ofMillis(1))
            .withDuplicate(CONTROL)
            .withReorder(CONTROL);
    private static final RRefSettings SOON_AGAIN = new RRefSettings(
            LONG,
            LONG,
            LONG,
            new ControlRetries(5, Duration.ofMillis(5), Duration.ofMillis(50), Duration.ofMillis(200)),
            Keeping.ON_REQUEST);

    /** A handle that a worker has, and what it stands for. */
    private record Held(int worker, RRef reference, long value) {}

    @TempDir
    private Path directory;

    private Workers workers;
    private final List<Worker> all = new ArrayList<>();
    private final List<Held> held = new ArrayList<>();
    private final ConcurrentLinkedQueue<Held> shared = new ConcurrentLinkedQueue<>();
    private final Deque<CompletableFuture<Void>> inFlight = new ArrayDeque<>();
    private Random random;

    private void join() throws IOException {
        workers = new Workers(directory);
        WorkerSettings settings = Workers.SETTINGS.toBuilder()
                .injection(ALL)
                .references(SOON_AGAIN)
                .build();
        for (int i = 0; i < WORKERS; i++) {
            int worker = i;
            HandlerRegistry handlers = workers.registry();
            workers.handle(handlers, "SCRIPT_CALL", (message, outbox) -> {
                List<Value> arguments = message.invocation().positional();
                if (arguments.get(0) instanceof Value.OfRRef reference) {
                    shared.add(new Held(worker, reference.value().retain(), number(arguments.get(1))));
                }
                outbox.respond(arguments.get(arguments.size() - 1));
            });
            all.add(workers.join("w" + i, handlers, settings));
        }
    }

    static LongStream seeds() {
        return Seeds.each(1, 2, 3);
    }

    @AfterEach
    void close() throws IOException {
        workers.close();
    }

    private static long number(Value value) {
        return ((Value.Int) value).value();
    }

    @ParameterizedTest
    @MethodSource("seeds")
    void endWithNothingLeft(long seed) throws Exception {
        join();
        random = new Random(seed);
        for (long i = 0; i < OPERATIONS; i++) {
            takeShared();
            if (held.size() < 2 * WORKERS || random.nextInt(4) == 0) {
                create(i);
            } else {
                use(held.get(random.nextInt(held.size())));
            }
            while (inFlight.size() > IN_FLIGHT) {
                inFlight.remove().get();
            }
        }
        for (CompletableFuture<Void> last : inFlight) {
            last.get();
        }
        takeShared();
        held.forEach(each -> each.reference().close());
        for (Worker worker : all) {
            Waits.until(
                    "seed " + seed + ": nothing is left of " + worker.info(),
                    () -> worker.rpc().debugInfo().values().stream().allMatch("0"::equals));
        }
        assertThat(all)
                .as("responses to what was lost or came twice")
                .allMatch(worker -> worker.counters().lateResponses() > 0);
    }

    private void takeShared() {
        for (Held next = shared.poll(); next != null; next = shared.poll()) {
            held.add(next);
        }
    }

    private void create(long value) {
        int from = random.nextInt(WORKERS);
        RRef reference = all.get(from).rpc().remote(name(), call(Value.of(value)), LONG);
        held.add(new Held(from, reference, value));
    }

    private void use(Held handle) {
        switch (random.nextInt(3)) {
            case 0 ->
                inFlight.add(
                        handle.reference().toHereAsync(LONG).thenAccept(response -> check(response, handle.value())));
            case 1 ->
                inFlight.add(all.get(handle.worker())
                        .rpc()
                        .rpcAsync(name(), call(Value.of(handle.reference()), Value.of(handle.value())), LONG)
                        .thenAccept(response -> check(response, handle.value())));
            default -> {
                held.remove(handle);
                handle.reference().close();
            }
        }
    }

    private String name() {
        return "w" + random.nextInt(WORKERS);
    }

    private static Invocation call(Value... arguments) {
        return new Invocation("test::same", List.of(arguments), Map.of());
    }

    private static void check(Response response, long expected) {
        try (response) {
            assertThat(response.value()).isEqualTo(Value.of(expected));
        }
    }
}
