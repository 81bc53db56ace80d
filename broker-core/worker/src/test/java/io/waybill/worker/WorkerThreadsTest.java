package io.waybill.worker;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.device.MappedSegment;
import io.waybill.api.device.MappingListener;
import io.waybill.api.event.CallEvent;
import io.waybill.api.handler.LateResponse;
import io.waybill.api.state.StatePolicy;
import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Device;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import io.waybill.api.tool.ToolCommand;
import io.waybill.api.tool.ToolDescription;
import io.waybill.api.tool.ToolRun;
import io.waybill.archive.ArchivePolicy;
import io.waybill.archive.ArchiveSettings;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.Provider;
import io.waybill.event.CallListeners;
import io.waybill.host.Host;
import io.waybill.injection.InjectionSettings;
import io.waybill.journal.Durability;
import io.waybill.journal.JournalQueue;
import io.waybill.journal.JournalSettings;
import io.waybill.journal.QueueFiles;
import io.waybill.journal.RetentionSettings;
import io.waybill.journal.Roll;
import io.waybill.tensor.memory.MappedSegments;
import io.waybill.testing.core.Waits;
import io.waybill.tool.ToolCommands;
import io.waybill.tool.ToolUser;
import io.waybill.worker.FaultyThreads.Fault;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Each thread of a worker, refused once by the host, and interrupted: its role goes on, or the worker says in one line that it has no thread for
 * it, and succeeds when it is asked again. The rows are those of the table in {@code docs/hacking/threads.md}; a row without a test fails.
 */
@Timeout(300)
class WorkerThreadsTest {

    private static final Path PAGE = Path.of("../../docs/hacking/threads.md");
    private static final Duration LONG = Duration.ofSeconds(60);
    private static final Device TOY = Device.parse("toy:0");

    @TempDir
    private Path directory;

    /** What a role does, observed from outside. */
    @FunctionalInterface
    private interface Role {

        /** Prepares the role, and returns how to see it at work, as often as is wanted. */
        Effect open(Scene scene) throws Exception;
    }

    @FunctionalInterface
    private interface Effect {
        void see(int round) throws Exception;
    }

    /** One home whose threads have a fault. */
    private static final class Scene {
        private final Workers workers;
        private final FaultyThreads threads;
        private final HandlerRegistry handlers;

        Scene(Path directory, FaultyThreads threads) throws IOException {
            this.threads = threads;
            this.workers = new Workers(directory, Host.real().withThreads(threads));
            this.handlers = workers.registry();
            workers.handleOnPoller(handlers, "0x142", (message, outbox) -> {
                message.tensors().forEach(tensor -> tensor.storage().retain());
                outbox.respond(message.payload(), message.tensors());
            });
        }

        Worker join(String name) throws Exception {
            return join(name, Workers.SETTINGS);
        }

        Worker join(String name, WorkerSettings settings) throws Exception {
            AtomicReference<Worker> joined = new AtomicReference<>();
            unlessRefused(() -> joined.set(workers.join(name, handlers, settings)));
            return joined.get();
        }

        /** Does something, and again if it says that the host gave no thread. */
        void unlessRefused(Action action) throws Exception {
            try {
                action.run();
            } catch (Exception e) {
                assertThat(threads.hasRefused()).as("refused, so that %s", e).isTrue();
                assertThat(e.getMessage()).doesNotContain("\n").containsAnyOf("no thread for", "gives no thread to");
                Waits.until("it succeeds after " + e.getMessage(), () -> succeeds(action));
            }
        }

        private static boolean succeeds(Action action) {
            try {
                action.run();
                return true;
            } catch (Exception e) {
                return false;
            }
        }

        void call(Worker caller, String to, Tensor... tensors) throws Exception {
            unlessRefused(() -> {
                try (Response response = caller.call(request(to, tensors))) {
                    assertThat(response.payload().remaining()).isEqualTo(8);
                }
            });
        }
    }

    private static Request request(String to, Tensor... tensors) {
        return Request.raw(to, MessageType.userRequest(0x42), ByteBuffer.allocate(8), List.of(tensors));
    }

    @FunctionalInterface
    private interface Action {
        void run() throws Exception;
    }

    private static final Map<String, Role> ROLES = new LinkedHashMap<>();

    static {
        ROLES.put("<worker>-poller-<n>", WorkerThreadsTest::reachable);
        ROLES.put("<worker>-housekeeper", WorkerThreadsTest::reachable);
        ROLES.put("<worker>-link", WorkerThreadsTest::reachable);
        ROLES.put("<provider>-handler-<n>", WorkerThreadsTest::handles);
        ROLES.put("<worker>-converter-handler-<n>", WorkerThreadsTest::converts);
        ROLES.put("<worker>-indexer", WorkerThreadsTest::indexes);
        ROLES.put("<worker>-syncer", WorkerThreadsTest::syncs);
        ROLES.put("<worker>-retention", WorkerThreadsTest::removes);
        ROLES.put("<worker>-archive", WorkerThreadsTest::archives);
        ROLES.put("<worker>-metrics", WorkerThreadsTest::publishes);
        ROLES.put("<worker>-releases", WorkerThreadsTest::givesBack);
        ROLES.put("<worker>-mappings", WorkerThreadsTest::notifiesOfSegments);
        ROLES.put("<worker>-timers", WorkerThreadsTest::runsTasks);
        ROLES.put("<owner>-broker-handler-<n>", WorkerThreadsTest::runsTasks);
        ROLES.put("<worker>-state", WorkerThreadsTest::keepsState);
        ROLES.put("<bundle>-command-<n>", WorkerThreadsTest::runsCommands);
        ROLES.put("<bundle>-command-<n>-watch", WorkerThreadsTest::runsCommands);
        ROLES.put("waybill-call-events", WorkerThreadsTest::deliversEvents);
        ROLES.put("<worker>-injector", WorkerThreadsTest::delays);
        ROLES.put("<worker>-recovery", WorkerThreadsTest::recovers);
        ROLES.put("<worker>-claims", WorkerThreadsTest::claims);
        ROLES.put("<worker>-repeats", WorkerThreadsTest::repeats);
        ROLES.put("<worker>-closer", WorkerThreadsTest::closes);
        ROLES.put("<worker>-damaged", WorkerThreadsTest::stops);
    }

    private static Effect reachable(Scene scene) throws Exception {
        scene.join("server");
        return round -> scene.call(scene.workers.join("late-" + round), "server");
    }

    private static Effect handles(Scene scene) throws Exception {
        scene.workers.handle(scene.handlers, "text.slow", (message, outbox) -> outbox.respond(Value.of(1)));
        Worker server = scene.join("server");
        return round -> scene.unlessRefused(
                () -> server.call(Request.operation("server", "text.slow")).close());
    }

    private static Effect converts(Scene scene) throws Exception {
        MappedToy toy = new MappedToy();
        WorkerSettings settings =
                Workers.SETTINGS.toBuilder().devices(Workers.TOYS).build();
        scene.workers.handle(
                scene.handlers,
                "map.make",
                (message, outbox) -> outbox.respond(ByteBuffer.allocate(1), List.of(toy.tensor(TOY, 100, 8))));
        scene.join("server", settings).devices().register("toy", toy);
        Worker caller = scene.join("caller", settings);
        caller.devices().register("toy", toy);
        return round -> scene.unlessRefused(() -> {
            try (Response response = caller.call(Request.operation("server", "map.make"))) {
                assertThat(response.tensors().get(0).device()).isEqualTo(TOY);
            }
        });
    }

    private static Effect indexes(Scene scene) throws Exception {
        Worker server = scene.join("server");
        Path index = server.directory().path().resolve("index");
        return round -> {
            for (int i = 0; i < 25; i++) { // with fewer records there is no index
                List<CompletableFuture<Response>> calls = Stream.generate(() -> server.callAsync(request("server")))
                        .limit(400)
                        .toList();
                for (CompletableFuture<Response> call : calls) {
                    call.get(60, TimeUnit.SECONDS).close();
                }
            }
            Waits.until("the index is made", () -> Files.exists(index));
        };
    }

    private static Effect syncs(Scene scene) throws Exception {
        Worker server = scene.join(
                "server",
                Workers.SETTINGS.toBuilder()
                        .journal(Workers.SETTINGS.journal().withDurability(Durability.INTERVAL))
                        .build());
        return round -> {
            scene.call(server, "server");
            long last = Workers.lastRequest(server);
            Waits.until(
                    "the request is synced", () -> server.directory().cursors().requestsOnDiskBefore() > last);
        };
    }

    private static Effect removes(Scene scene) throws Exception {
        JournalSettings small = new JournalSettings(Roll.MINUTELY, 4 << 20, 1 << 20, 1 << 20).withFileBytes(1 << 20);
        Worker server = scene.join(
                "server",
                Workers.SETTINGS.toBuilder()
                        .journal(small)
                        .retention(RetentionSettings.DEFAULTS.withMaxBytes(32L << 20))
                        .build());
        QueueFiles files = new QueueFiles(server.directory().path(), JournalQueue.REQUESTS, scene.workers.host.files());
        return round -> {
            Path oldest = files.list().get(0).path();
            Request request =
                    Request.raw("server", MessageType.userRequest(0x42), ByteBuffer.allocate(64 << 10), List.of());
            Waits.until(oldest + " is removed", () -> {
                server.call(request).close();
                return !Files.exists(oldest);
            });
        };
    }

    private static Effect archives(Scene scene) throws Exception {
        Worker server = scene.join(
                "server",
                Workers.SETTINGS.toBuilder()
                        .archive(ArchiveSettings.DEFAULTS.withPolicy(ArchivePolicy.ALL))
                        .build());
        return round -> {
            long before = server.archiveStatus().archivedStorages();
            Storage storage = server.buffers().allocate(500_000);
            scene.call(server, "server", Tensor.contiguous(DType.UINT8, new long[] {500_000}, storage));
            storage.release();
            Waits.until("the tensor is archived", () -> server.archiveStatus().archivedStorages() > before);
        };
    }

    private static Effect publishes(Scene scene) throws Exception {
        Worker server = scene.join("server");
        Path file = server.directory().path().resolve("metrics");
        return round -> {
            Waits.until("there are figures", () -> Files.exists(file));
            byte[] before = Files.readAllBytes(file);
            scene.call(server, "server");
            Waits.until("figures are published", () -> !Arrays.equals(before, Files.readAllBytes(file)));
        };
    }

    private static Effect givesBack(Scene scene) throws Exception {
        SharingToy toy = new SharingToy();
        WorkerSettings settings =
                Workers.SETTINGS.toBuilder().devices(Workers.TOYS).build();
        scene.join("server", settings).devices().register("toy", toy);
        Worker caller = scene.join("caller", settings);
        caller.devices().register("toy", toy);
        return round -> {
            Tensor sent = toy.tensor(TOY, 100_000, 3);
            scene.call(caller, "server", sent);
            sent.storage().release();
            Waits.until(() -> toy.live.get() + " storages left", () -> toy.live.get() == 0);
        };
    }

    private static Effect notifiesOfSegments(Scene scene) {
        Host host = scene.workers.host;
        MappedSegments segments = new MappedSegments("server", host.threads(), host.clock());
        return round -> {
            CountDownLatch notified = new CountDownLatch(2);
            MappedSegments.Registration listening = segments.listen(
                    "a listener",
                    new MappingListener() {
                        @Override
                        public void mapped(MappedSegment segment) {
                            notified.countDown();
                        }

                        @Override
                        public void unmapping(MappedSegment segment) {
                            notified.countDown();
                        }
                    },
                    (what, failure) -> {});
            MappedSegments.Mapped mapped =
                    segments.mapped(new MappedSegment(4096, 4096, MappedSegment.Use.SENDS, 4096));
            CountDownLatch unmapped = new CountDownLatch(1);
            segments.unmap(mapped, unmapped::countDown);
            retryUntil(host, "the listener is notified, and the segment unmapped", unmapped);
            assertThat(notified.getCount()).isZero();
            listening.close();
        };
    }

    /** Waits, and does meanwhile what the housekeeper of a worker does. */
    private static void retryUntil(Host host, String what, CountDownLatch latch) {
        Waits.until(what, () -> {
            host.threads().retry();
            return latch.getCount() == 0;
        });
    }

    private static Effect runsTasks(Scene scene) throws Exception {
        Worker server = scene.join("server");
        return round -> {
            CountDownLatch ran = new CountDownLatch(1);
            server.broker().schedule(Duration.ofMillis(1), ran::countDown);
            Waits.until("the task runs", () -> ran.getCount() == 0);
        };
    }

    private static Effect keepsState(Scene scene) throws Exception {
        Worker server = scene.join("server");
        Path state = server.directory().path().resolve("state");
        return round -> {
            server.broker().state("counts-" + round, StatePolicy.KEEP.onDisk()).put("n", Value.of(round));
            Waits.until("the store is on disk", () -> count(state) > round);
        };
    }

    private static long count(Path directory) {
        String[] names = directory.toFile().list((in, name) -> !name.startsWith(".")); // those are not whole
        return names == null ? 0 : names.length;
    }

    private static Effect runsCommands(Scene scene) throws Exception {
        ToolCommands commands = new ToolCommands(scene.handlers, scene.workers.host);
        commands.add(new Provider("tools", "1"), new ToolCommand() {
            @Override
            public ToolDescription description() {
                return ToolDescription.of("say", "Says it.");
            }

            @Override
            public void run(ToolRun run) {
                run.line("hello");
            }
        });
        scene.join("node");
        ToolUser user = new ToolUser(scene.join("user"), "node");
        return round -> scene.unlessRefused(() -> {
            ToolUser.Outcome outcome = user.run("say");
            if (outcome.exitCode() != 0) {
                throw new IllegalStateException(outcome.error());
            }
            assertThat(outcome.lines()).containsExactly("hello");
        });
    }

    private static Effect deliversEvents(Scene scene) {
        Host host = scene.workers.host;
        CallListeners listeners = new CallListeners(host.threads(), host.clock());
        AtomicReference<CountDownLatch> seen = new AtomicReference<>();
        listeners.add("a listener", event -> seen.get().countDown());
        return round -> {
            seen.set(new CountDownLatch(1));
            listeners.notifyElsewhere(listeners.own().open(CallEvent.Kind.BEGUN, 1, 3, MessageType.NAMED_CALL));
            retryUntil(host, "the event is delivered", seen.get());
        };
    }

    private static Effect delays(Scene scene) throws Exception {
        InjectionSettings delay =
                InjectionSettings.NONE.withDelay(MessageType.userRequest(0x42), Duration.ofMillis(50));
        Worker server = scene.join(
                "server", Workers.SETTINGS.toBuilder().injection(delay).build());
        return round -> scene.call(server, "server");
    }

    /** A callee that responds to nothing, and its next incarnation, which must say what became of the calls. */
    private static Effect recovers(Scene scene) throws Exception {
        AtomicReference<LateResponse> kept = new AtomicReference<>();
        scene.workers.handle(scene.handlers, "text.never", (message, outbox) -> kept.set(outbox.later()));
        Worker caller = scene.workers.join("caller");
        return round -> {
            String name = "callee-" + round;
            Worker first = scene.join(name);
            kept.set(null);
            CompletableFuture<Response> call =
                    caller.callAsync(Request.operation(name, "text.never").timeout(LONG));
            Waits.until("the request is begun", () -> kept.get() != null);
            first.close();
            scene.join(name);
            Waits.until("the call has an outcome", call::isDone);
        };
    }

    private static Effect claims(Scene scene) throws Exception {
        AtomicReference<LateResponse> late = new AtomicReference<>();
        scene.workers.handle(scene.handlers, "text.late", (message, outbox) -> late.set(outbox.later()));
        scene.join("callee");
        return round -> {
            late.set(null);
            long id = abandoned(scene, "text.late", () -> late.get() != null);
            Worker again = scene.workers.join("caller");
            AtomicReference<CompletableFuture<Response>> outcome = new AtomicReference<>();
            scene.unlessRefused(() -> {
                outcome.set(again.claimAsync(id, LONG));
                if (outcome.get().isCompletedExceptionally()) {
                    outcome.get().join();
                }
            });
            late.get().body().text("said", "hello");
            late.get().send();
            outcome.get().get(60, TimeUnit.SECONDS).close();
            again.close();
        };
    }

    /** Requests that were refused because no handler was there, and are sent again when there is one. */
    private static Effect repeats(Scene scene) throws Exception {
        scene.join("callee");
        return round -> {
            String operation = "text.round-" + round;
            AtomicBoolean refused = new AtomicBoolean();
            Worker first = scene.workers.join("caller");
            long id = first.call(
                    Request.operation("callee", operation).timeout(LONG), new SilentListener(() -> refused.set(true)));
            Waits.until("the request is refused", refused::get);
            first.close();
            scene.workers.handle(scene.handlers, operation, (message, outbox) -> outbox.respond(Value.of(1)));
            Worker again = scene.workers.join("caller");
            again.repeatAsync(id, LONG).get(60, TimeUnit.SECONDS).close();
            again.close();
        };
    }

    /** Returns the id of a call whose caller leaves before the response. */
    private static long abandoned(Scene scene, String operation, Waits.Condition<RuntimeException> begun)
            throws Exception {
        Worker first = scene.workers.join("caller");
        long id = first.call(Request.operation("callee", operation).timeout(LONG), new SilentListener());
        Waits.until("the request is begun", begun);
        first.close();
        return id;
    }

    private static Effect closes(Scene scene) throws Exception {
        scene.join("server");
        return round -> {
            Worker closing = scene.workers.join("closing-" + round);
            closing.call(Request.operation("server", "no.such"), new SilentListener(() -> {
                try {
                    closing.close();
                } catch (IOException e) {
                    throw new IllegalStateException(e);
                }
            }));
            Waits.until("the worker has left", () -> isFree(scene, closing));
        };
    }

    private static boolean isFree(Scene scene, Worker left) {
        try {
            scene.workers.join(left.info().name()).close();
            return true;
        } catch (IOException e) {
            return false;
        }
    }

    private static Effect stops(Scene scene) throws Exception {
        return round -> {
            Worker stopping = scene.workers.join("stopping-" + round);
            Files.delete(stopping.directory().path().resolve("cursors"));
            stopping.failure().get(60, TimeUnit.SECONDS);
        };
    }

    static Stream<Arguments> faults() {
        return ROLES.keySet().stream().flatMap(row -> Stream.of(Fault.values()).map(fault -> Arguments.of(row, fault)));
    }

    @ParameterizedTest(name = "{0} {1}")
    @MethodSource("faults")
    void goesOn(String row, Fault fault) throws Exception {
        FaultyThreads threads = new FaultyThreads(fault, namesOf(row));
        Scene scene = new Scene(directory, threads);
        try (Workers workers = scene.workers) {
            Effect effect = ROLES.get(row).open(scene);
            effect.see(0);
            Waits.until("a thread of the role is started", () -> threads.interrupt() > 0); // the effect may come first
            assertThat(threads.hasRefused()).isEqualTo(fault == Fault.REFUSED_ONCE);
            effect.see(1);
            assertThat(workers.host.threads().late())
                    .as("threads that never started")
                    .isZero();
        }
    }

    private static Pattern namesOf(String row) {
        return Pattern.compile(row.replaceAll("<n>", "[0-9]+").replaceAll("<[a-z]+>", ".+"));
    }

    @Test
    void areAllInTheTable() throws IOException {
        String page = Files.readString(PAGE);
        String table = page.substring(page.indexOf("## Threads of a worker"), page.indexOf("## Threads of a node"));
        Matcher rows = Pattern.compile("(?m)^\\| (`[^|]+`) \\|").matcher(table);
        List<String> names = rows.results()
                .flatMap(row ->
                        Pattern.compile("`([^`]+)`").matcher(row.group(1)).results())
                .map(name -> name.group(1))
                .toList();
        assertThat(ROLES.keySet())
                .as("the threads of a worker in %s, each of which has a row in %s", PAGE, WorkerThreadsTest.class)
                .containsExactlyInAnyOrderElementsOf(names);
    }
}
