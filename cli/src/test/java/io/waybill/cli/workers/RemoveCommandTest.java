package io.waybill.cli.workers;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.cli.Commands;
import io.waybill.cli.command.Surroundings;
import io.waybill.dispatch.ExecutorSettings;
import io.waybill.dispatch.HandlerKey;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.HandlerSpec;
import io.waybill.dispatch.ParkingSettings;
import io.waybill.dispatch.Provider;
import io.waybill.home.Home;
import io.waybill.home.JoinOptions;
import io.waybill.home.Membership;
import io.waybill.home.Peer;
import io.waybill.home.WorkerDirectory;
import io.waybill.host.Host;
import io.waybill.query.DepartedWorkers;
import io.waybill.testing.core.Waits;
import io.waybill.worker.Worker;
import io.waybill.worker.WorkerSettings;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringReader;
import java.io.StringWriter;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Removing workers that are gone, with real journals. */
@Timeout(value = 120, unit = TimeUnit.SECONDS)
class RemoveCommandTest {

    private static final int NO_ID = -1;

    @TempDir
    Path temporary;

    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();
    private Optional<String> typed = Optional.empty(); // by a person at a terminal
    private Home home;
    private volatile int blocked = NO_ID; // whose requests the handler does not complete
    private final AtomicInteger running = new AtomicInteger();

    @BeforeEach
    void makeHome() throws IOException {
        home = Home.open(temporary.resolve("home"), Host.real());
    }

    private int run(String... args) {
        out.getBuffer().setLength(0);
        err.getBuffer().setLength(0);
        Surroundings surroundings = new Surroundings(
                        new PrintWriter(out),
                        new PrintWriter(err),
                        Surroundings.Watcher.PROGRAM,
                        home.path(),
                        Optional.empty(),
                        temporary,
                        "17",
                        Map.of())
                .withPerson(() -> typed.map(line -> new BufferedReader(new StringReader(line))));
        return Commands.run(surroundings, args);
    }

    /** What a command printed, for the message of a test whose command ended in another way. */
    private String printed() {
        return "exit code of a command that printed: " + out + err;
    }

    private Worker join(String name, WorkerSettings.Role role) throws IOException {
        Host host = home.host();
        HandlerRegistry handlers = new HandlerRegistry(ParkingSettings.DEFAULT, host.threads(), host.clock());
        Provider provider = new Provider("test", "1");
        handlers.add(new HandlerSpec(
                List.of(HandlerKey.parse("0x142")),
                (message, outbox) -> {
                    running.incrementAndGet();
                    Waits.until("the handler is let go", () -> message.from() != blocked);
                    running.decrementAndGet();
                    outbox.respond(ByteBuffer.allocate(0));
                },
                false,
                provider,
                0,
                getClass().getClassLoader(),
                handlers.newExecutor(provider, ExecutorSettings.forProcessors(2))));
        Worker worker = Worker.join(
                home,
                name,
                JoinOptions.defaults(),
                WorkerSettings.builder().role(role).build(),
                handlers);
        worker.ready(Map.of());
        return worker;
    }

    private static CompletableFuture<Response> send(Worker from, String to) {
        return from.callAsync(Request.raw(to, MessageType.userRequest(0x42), ByteBuffer.allocate(8), List.of()));
    }

    private List<String> names() throws IOException {
        try (Membership membership = new Membership(home)) {
            membership.refresh();
            return membership.members().all().stream().map(Peer::name).toList();
        }
    }

    @Test
    void removesCallersThatLeftWithTheirJournals() throws Exception {
        try (Worker server = join("server", WorkerSettings.Role.SERVES)) {
            for (int i = 0; i < 3; i++) {
                try (Worker caller = join("caller-" + i, WorkerSettings.Role.CALLS_ONLY)) {
                    send(caller, "server").get(60, TimeUnit.SECONDS).close();
                }
            }
            assertThat(run("workers", "remove", "--all-departed", "--dry-run"))
                    .as(this::printed)
                    .isZero();
            assertThat(out.toString()).contains("would remove 3 of 3 workers that left");
            assertThat(names()).hasSize(4);

            assertThat(run("workers", "remove", "--departed-for", "1h"))
                    .as(this::printed)
                    .isZero();
            assertThat(out.toString()).contains("removed 0 of 0");
            assertThat(run("workers", "remove", "--all-departed", "--yes"))
                    .as(err.toString())
                    .isZero();
            assertThat(out.toString()).contains("removed 3 of 3");

            assertThat(names()).containsExactly("server");
            assertThat(Files.list(home.workersPath()).toList()).hasSize(1);
            Waits.until(
                    "the server has no slot of a removed worker", // or their ids would never be given again
                    () -> server.directory().cursors().taken().stream()
                            .allMatch(slot -> slot.peerId() == server.info().id()));
            assertThat(run("journal", "verify")).as(out.toString()).isZero();
            assertThat(server.directory().record().name()).isEqualTo("server");
        }
    }

    @Test
    void refusesOneThatAnotherHasStillToReadOf() throws IOException {
        try (Worker server = join("server", WorkerSettings.Role.SERVES)) {
            Worker caller = join("caller", WorkerSettings.Role.CALLS_ONLY);
            blocked = caller.info().id();
            send(caller, "server");
            send(caller, "server");
            caller.close();

            assertThat(run("workers", "remove", "caller")).as(this::printed).isEqualTo(1);
            assertThat(err.toString())
                    .contains("worker caller can't be removed without loss: 2 requests that server has not completed")
                    .hasLineCount(1);
            assertThat(run("workers", "remove", "--all-departed", "--yes"))
                    .as(this::printed)
                    .isZero();
            assertThat(out.toString()).contains("is kept: 2 requests").contains("removed 0 of 1");
            assertThat(DepartedWorkers.removeLeftBefore(home, Duration.ZERO)).isZero();
            assertThat(names()).contains("caller");

            assertThat(run("workers", "remove", "caller", "--force", "--archive", temporary + "/archive"))
                    .as(err.toString())
                    .isZero();
            assertThat(out.toString()).contains("is removed; lost: 2 requests that server has not completed");
            assertThat(names()).containsExactly(server.info().name());
            assertThat(run("journal", "list", "--home", temporary + "/archive")).isZero();
            assertThat(out.toString().lines().filter(line -> line.contains("caller")))
                    .hasSize(2);
            blocked = NO_ID;
        }
    }

    @Test
    @Timeout(value = 600, unit = TimeUnit.SECONDS)
    void removesMoreCallersThanAServerHasSlotsAndKeepsOneWhoseRequestRuns() throws Exception {
        int callers = 520; // the cursors have 512
        try (Worker server = join("server", WorkerSettings.Role.SERVES)) {
            try (Worker waiting = join("waiting", WorkerSettings.Role.CALLS_ONLY)) {
                blocked = waiting.info().id();
                send(waiting, "server");
                Waits.until("the request runs", () -> running.get() == 1);
            }
            for (int i = 1; i < callers; i++) {
                try (Worker caller = join("caller-" + i, WorkerSettings.Role.CALLS_ONLY)) {
                    send(caller, "server").get(60, TimeUnit.SECONDS).close();
                }
            }
            assertThat(server.directory().cursors().taken())
                    .as("peers of which the server has a slot, in place of " + callers)
                    .hasSizeLessThan(callers);

            assertThat(run("workers", "remove", "--all-departed", "--yes"))
                    .as(this::printed)
                    .isZero();
            assertThat(out.toString())
                    .contains("worker waiting (id 1) is kept: 1 requests that server has not completed")
                    .contains("removed " + (callers - 1) + " of " + callers + " workers that left");

            blocked = NO_ID;
            Waits.until("the request has run", () -> running.get() == 0);
            Waits.until("its worker can be removed", () -> DepartedWorkers.removeLeftBefore(home, Duration.ZERO) == 1);
            assertThat(names()).containsExactly("server");
        }
    }

    @Test
    void refusesALiveOneAndOneThatIsNotThereAndNoNameAtAll() throws IOException {
        try (WorkerDirectory alive = home.join("alive")) {
            assertThat(run("workers", "remove", alive.name())).as(this::printed).isEqualTo(1);
            assertThat(err.toString()).contains("worker alive is alive").hasLineCount(1);
        }
        assertThat(run("workers", "remove", "nobody")).as(this::printed).isEqualTo(1);
        assertThat(err.toString()).contains("no worker nobody");
        assertThat(run("workers", "remove")).as(this::printed).isEqualTo(2);
        assertThat(run("workers", "remove", "alive", "--all-departed"))
                .as(this::printed)
                .isEqualTo(2);
        assertThat(names()).containsExactly("alive");
    }

    @Test
    void policyRemovesOnlyThoseThatLeftLongEnoughAgo() throws IOException {
        home.join("old").leave();
        assertThat(DepartedWorkers.removeLeftBefore(home, Duration.ofHours(1))).isZero();
        assertThat(DepartedWorkers.removeLeftBefore(home, Duration.ZERO)).isEqualTo(1);
        assertThat(names()).isEmpty();
    }

    @Test
    void listsThoseThatAreNotNamedAndAsksBeforeItRemovesOne() throws IOException {
        home.join("one").leave();
        home.join("two").leave();

        assertThat(run("workers", "remove", "--all-departed")).as(this::printed).isEqualTo(1);
        assertThat(out.toString())
                .contains("worker one (id 0) would be removed")
                .contains("worker two (id 1) would be removed");
        assertThat(err.toString())
                .contains("nothing is changed: expected --yes or a terminal at which to ask, found neither;"
                        + " Delete what 2 workers that left have in the home?")
                .hasLineCount(1);
        for (String other : List.of("", "n\n", "yesterday\n")) {
            typed = Optional.of(other);
            assertThat(run("workers", "remove", "--departed-for", "0s"))
                    .as(this::printed)
                    .isEqualTo(1);
            assertThat(err.toString())
                    .contains("Delete what 2 workers that left have in the home? [y/N] ")
                    .contains("nothing is changed: expected y, found something else");
        }
        assertThat(names()).containsExactly("one", "two");

        typed = Optional.of("Y\n");
        assertThat(run("workers", "remove", "--all-departed")).as(this::printed).isZero();
        assertThat(out.toString())
                .contains("worker one (id 0) would be removed")
                .contains("removed 2 of 2");
        assertThat(names()).isEmpty();
    }

    @Test
    void sparesWhoHasMoreThanAJournalUnlessItIsNamed() throws IOException {
        for (String directory : List.of("bundles", "osgi", "state", "kept")) {
            try (WorkerDirectory stopped = home.join("with-" + directory)) {
                stopped.subdirectory(directory);
            }
        }
        for (String name : List.of("cli", "cli-2", "client", "cli-x", "plain")) {
            home.join(name).leave();
        }

        assertThat(run("workers", "remove", "--all-departed", "--yes", "--force"))
                .isZero();
        assertThat(out.toString())
                .contains("worker with-osgi (id 1) is kept: a node, with its bundles and state; its name removes it")
                .contains("worker with-state (id 2) is kept: it has stores on disk")
                .contains("worker cli (id 4) is kept: the record of what commands did")
                .contains("removed 3 of 9");
        String[] spared = {"with-bundles", "with-osgi", "with-state", "with-kept", "cli", "cli-2"};
        assertThat(names()).containsExactly(spared);
        assertThat(DepartedWorkers.removeLeftBefore(home, Duration.ZERO)).isZero(); // what a node does each minute
        assertThat(names()).containsExactly(spared);

        assertThat(run("workers", "remove", "with-bundles", "cli", "--dry-run"))
                .as(this::printed)
                .isZero();
        assertThat(out.toString()).contains("would be removed: a node, with its bundles and state");
        assertThat(run("workers", "remove", "with-bundles", "cli"))
                .as(this::printed)
                .isZero();
        assertThat(out.toString())
                .contains("worker with-bundles (id 0) is removed: a node, with its bundles and state")
                .contains("worker cli (id 4) is removed: the record of what commands did");
        assertThat(names()).containsExactly("with-osgi", "with-state", "with-kept", "cli-2");
    }

    @Test
    void removesNoneOfSeveralNamesIfOneHasWhatAnotherHasToRead() throws IOException {
        home.join("idle").leave();
        try (Worker server = join("server", WorkerSettings.Role.SERVES)) {
            Worker caller = join("caller", WorkerSettings.Role.CALLS_ONLY);
            blocked = caller.info().id();
            send(caller, server.info().name());
            caller.close();
            assertThat(run("workers", "remove", "idle", "caller"))
                    .as(this::printed)
                    .isEqualTo(1);
            assertThat(names()).contains("idle", "caller");
            blocked = NO_ID;
        }
    }
}
