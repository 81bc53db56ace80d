package io.waybill.tool;

import static io.waybill.tool.ToolUser.number;
import static io.waybill.tool.ToolUser.text;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.CallException;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import io.waybill.api.tool.ToolCommand;
import io.waybill.api.tool.ToolDescription;
import io.waybill.api.tool.ToolFailedException;
import io.waybill.api.tool.ToolRun;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.Provider;
import io.waybill.testing.core.Waits;
import io.waybill.tool.ToolUser.Outcome;
import io.waybill.worker.Worker;
import io.waybill.worker.Workers;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Commands of a program, run by another worker of its home. */
@Timeout(180)
class ToolCommandsTest {

    private static final Provider ACME = new Provider("org.acme.tools", "1.0.0");
    private static final CountDownLatch NEVER = new CountDownLatch(1);

    @TempDir
    Path directory;

    private Workers workers;
    private ToolCommands commands;
    private Worker worker;
    private ToolUser user;

    @BeforeEach
    void join() throws Exception {
        workers = new Workers(directory);
        HandlerRegistry registry = workers.registry();
        workers.handle(registry, "text.echo", (message, outbox) -> outbox.respond(Value.of("echo")));
        commands = new ToolCommands(registry, workers.host);
        workers.join("node", registry);
        worker = workers.join("user");
        user = new ToolUser(worker, "node");
    }

    @AfterEach
    void leave() throws Exception {
        commands.close();
        workers.close();
    }

    private interface Body {
        void run(ToolRun run) throws Exception;
    }

    private static ToolCommand command(ToolDescription description, Body body) {
        return new ToolCommand() {
            @Override
            public ToolDescription description() {
                return description;
            }

            @Override
            public void run(ToolRun run) throws Exception {
                body.run(run);
            }
        };
    }

    private ToolCommands.Registration add(String name, Body body) {
        return commands.add(ACME, command(ToolDescription.of(name, "Is tested."), body));
    }

    @Test
    void aCommandThatWasRemovedTwiceLeavesItsSuccessor() {
        ToolCommands.Registration first = add("count", run -> run.line("1"));
        first.remove();
        add("count", run -> run.line("2"));
        first.remove();
        begin("count");
    }

    private long begin(String name) {
        Map<Value, Value> begun = user.start(name, false);
        assertThat(text(begun, "error")).isEmpty();
        return number(begun, "run");
    }

    /** Reads until there is output, which must be this one, of a run that goes on. */
    private void awaitItem(long run, Value item) {
        Value none = Value.list();
        Map<Value, Value> read;
        do {
            read = user.call("tools.read", Map.of("run", Value.of(run)));
        } while (read.get(Value.of("items")).equals(none));
        assertThat(read)
                .containsEntry(Value.of("items"), Value.list(item))
                .containsEntry(Value.of("done"), Value.of(false));
    }

    private Map<Value, Value> listed(String name) {
        Value all = user.call("tools.list", Map.of()).get(Value.of("commands"));
        for (Value each : ((Value.Items) all).values()) {
            Map<Value, Value> fields = ((Value.Dict) each).entries();
            if (text(fields, "name").equals(name)) {
                return fields;
            }
        }
        throw new AssertionError(name + " is not in " + all);
    }

    private void assertServesOn() {
        try (Response response = worker.call(Request.operation("node", "text.echo"))) {
            assertThat(response.value()).isEqualTo(Value.of("echo"));
        }
        add("fine", run -> run.line("fine"));
        assertThat(user.run("fine").lines()).containsExactly("fine");
    }

    @Test
    void streamsTextAndDocuments() throws Exception {
        CountDownLatch seen = new CountDownLatch(1);
        add("show", run -> {
            run.line("one");
            seen.await();
            if (run.isJson()) {
                run.json(Value.list(Value.of(2)));
            }
        });
        long run = number(user.start("show", true), "run");
        awaitItem(run, Value.of("one"));
        seen.countDown();
        Outcome rest = user.outcome(run);
        assertThat(rest.items()).containsExactly(Value.tuple(Value.list(Value.of(2))));
        assertThat(rest.exitCode()).isZero();
        AtomicReference<CallException> second = new AtomicReference<>();
        Waits.until(
                "nothing is left of the run",
                () -> { // of which its thread is the last
                    try {
                        return user.outcome(run) == null;
                    } catch (CallException e) {
                        second.set(e);
                        return true;
                    }
                });
        assertThat(second.get()).hasMessageContaining("no run " + run);
    }

    @Test
    void readsOptionsAndArguments() {
        ToolDescription described = ToolDescription.of("count", "Counts.")
                .option("--every", "TIME", "Interval.")
                .flag("--all", "All of them.")
                .arguments("WORD", 1, 3);
        commands.add(
                ACME,
                command(
                        described,
                        run -> run.line(run.arguments() + " " + run.option("--every") + " " + run.isSet("--all"))));
        assertThat(user.run("count", "a", "--every=1s", "--all").lines()).containsExactly("[a] Optional[1s] true");
        assertThat(user.run("count", "--every", "2s", "--", "--all").lines())
                .containsExactly("[--all] Optional[2s] false");
        assertUsage("expected 1 to 3 of WORD, found 0", "--all");
        assertUsage("unknown option --some; there are --every, --all", "a", "--some");
        assertUsage("option --every needs a value: --every TIME", "a", "--every");
        assertUsage("option --all has no value", "a", "--all=1");
        assertUsage("option --all is given twice", "a", "--all", "--all");
        assertThat(user.run("cuont"))
                .isEqualTo(new Outcome(List.of(), 2, "the node has no command cuont; its bundles offer count"));
    }

    private void assertUsage(String error, String... words) {
        assertThat(user.run("count", words)).isEqualTo(new Outcome(List.of(), 2, error));
    }

    /** Whatever a command can do. */
    private enum Kind {
        THROWS("failed: java.lang.IllegalStateException: planted"),
        THROWS_ERROR("failed: java.lang.StackOverflowError"),
        THROWS_OWN("failed: io.waybill.tool.ToolCommandsTest$UntellingException"),
        FAILS_WITHOUT_TEXT("io.waybill.tool.ToolCommandsTest$UntellingFailure"),
        FAILS("no such thing"),
        HANGS("did not end within 200 ms"),
        HANGS_IN_OUTPUT("did not end within 200 ms"),
        IGNORES_ITS_INTERRUPT("did not end within 200 ms"),
        FLOODS("wrote more than 64 MiB"),
        WRITES_A_TENSOR("no tensors or references"),
        WRITES_A_LONG_LINE("at most 65536 characters"),
        WRITES_NULL("NullPointerException"),
        NESTS_TOO_DEEPLY("failed: ");

        private final String error;

        Kind(String error) {
            this.error = error;
        }
    }

    private static final class UntellingException extends RuntimeException {
        private static final long serialVersionUID = 1;

        @Override
        public String getMessage() {
            throw new IllegalStateException("planted");
        }
    }

    private static final class UntellingFailure extends ToolFailedException {
        private static final long serialVersionUID = 1;

        UntellingFailure() {
            super(7, "");
        }

        @Override
        public String getMessage() {
            throw new IllegalStateException("planted");
        }
    }

    private void misbehave(Kind kind, ToolRun run, CountDownLatch release) throws Exception {
        switch (kind) {
            case THROWS -> throw new IllegalStateException("planted");
            case THROWS_ERROR -> throw new StackOverflowError();
            case THROWS_OWN -> throw new UntellingException();
            case FAILS_WITHOUT_TEXT -> throw new UntellingFailure();
            case FAILS -> throw new ToolFailedException(7, "no such thing");
            case HANGS -> NEVER.await();
            case HANGS_IN_OUTPUT -> {
                while (true) {
                    run.line("x".repeat(1000));
                    NEVER.await();
                }
            }
            case IGNORES_ITS_INTERRUPT -> {
                while (release.getCount() > 0) {
                    try {
                        release.await();
                    } catch (InterruptedException e) {
                        // on purpose
                    }
                }
            }
            case FLOODS -> {
                // returns by itself when the limit is not checked
                for (int written = 0; written <= 65 << 20; written += 60_000) {
                    run.line("x".repeat(60_000));
                }
            }
            case WRITES_A_TENSOR -> {
                Storage storage = worker.buffers().allocate(4);
                try {
                    run.json(Value.of(Tensor.contiguous(DType.UINT8, new long[] {4}, storage)));
                } finally {
                    storage.release();
                }
            }
            case WRITES_A_LONG_LINE -> run.line("x".repeat(70_000));
            case WRITES_NULL -> run.line(null);
            case NESTS_TOO_DEEPLY -> {
                Value nested = Value.of(1);
                for (int i = 0; i < 40; i++) {
                    nested = Value.list(nested);
                }
                run.json(nested);
            }
        }
    }

    @ParameterizedTest
    @EnumSource
    void endsWhateverACommandDoesWithOneLine(Kind kind) {
        CountDownLatch release = new CountDownLatch(1);
        Duration limit = kind.name().contains("HANGS") || kind == Kind.IGNORES_ITS_INTERRUPT
                ? Duration.ofMillis(200)
                : Duration.ofHours(1);
        ToolDescription described = ToolDescription.of("bad", "Is bad.").limit(limit);
        commands.add(ACME, command(described, run -> misbehave(kind, run, release)));

        Outcome outcome = user.run("bad");

        assertThat(outcome.error()).contains(kind.error).doesNotContain("\n");
        boolean isItsOwn = kind == Kind.FAILS || kind == Kind.FAILS_WITHOUT_TEXT;
        assertThat(outcome.exitCode()).isEqualTo(isItsOwn ? 7 : 1);
        assertThat(number(listed("bad"), "failed")).as("charged to its bundle").isEqualTo(isItsOwn ? 0 : 1);
        assertServesOn();
        if (kind == Kind.IGNORES_ITS_INTERRUPT) {
            Waits.until("it counts as stuck", () -> commands.stuck(ACME) == 1);
            release.countDown();
            Waits.until("its thread has ended", () -> commands.stuck(ACME) == 0);
        }
    }

    @Test
    void lastsAsLongAsItsUserWhenItHasNoLimit() {
        ToolDescription live = ToolDescription.of("live", "Runs on.").limit(Duration.ZERO);
        AtomicReference<ToolRun> seen = new AtomicReference<>();
        commands.add(ACME, command(live, run -> {
            seen.set(run);
            while (run.pause(Duration.ofMillis(1))) {
                run.line("tick");
            }
        }));
        long run = begin("live");
        assertThat(user.call("tools.read", Map.of("run", Value.of(run))))
                .containsEntry(Value.of("done"), Value.of(false));
        Worker other = join("other");
        assertThatThrownBy(() -> new ToolUser(other, "node").call("tools.end", Map.of("run", Value.of(run))))
                .hasMessageContaining("has no run " + run);
        user.call("tools.end", Map.of("run", Value.of(run)));
        assertThat(user.outcome(run).error()).isEqualTo("command live of org.acme.tools 1.0.0 was ended: by its user");
        assertThat(seen.get().isCancelled()).isTrue();
        assertThatThrownBy(() -> seen.get().line("late"))
                .isInstanceOf(java.util.concurrent.CancellationException.class);
        assertThat(seen.get().pause(Duration.ofDays(1_000_000_000))).isFalse();
        assertThat(number(listed("live"), "failed")).isZero();
    }

    private Worker join(String name) {
        try {
            return workers.join(name);
        } catch (java.io.IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }

    @Test
    void endsWhenItsUserStopsReading() {
        CompletableFuture<String> ended = new CompletableFuture<>();
        ToolDescription live = ToolDescription.of("live", "Runs on.").limit(Duration.ZERO);
        commands.add(ACME, command(live, run -> {
            try {
                while (true) {
                    run.line("x".repeat(10_000)); // waits when enough is unread
                }
            } catch (java.util.concurrent.CancellationException e) {
                ended.complete(e.getMessage());
                throw e;
            }
        }));
        long run = begin("live");
        assertThat(ended.join()).contains("its user has left");
        Waits.until(
                "nothing is left of it",
                () -> commands.session(run, worker.info().id()) == null);
    }

    @Test
    void endsItsRunsWhenACommandIsRemoved() {
        ToolDescription live = ToolDescription.of("live", "Runs on.").limit(Duration.ZERO);
        ToolCommands.Registration old = commands.add(ACME, command(live, run -> {
            run.line("old");
            NEVER.await();
        }));
        long run = begin("live");
        awaitItem(run, Value.of("old"));
        old.remove();
        old.remove();
        commands.add(new Provider("org.acme.tools", "2.0.0"), command(live, each -> each.line("new")));
        assertThat(user.outcome(run))
                .isEqualTo(new Outcome(
                        List.of(), 1, "command live of org.acme.tools 1.0.0 was ended: its bundle has stopped"));
        assertThat(user.run("live").lines()).containsExactly("new");
    }

    @Test
    void refusesANameThatIsTaken() {
        add("show", run -> {});
        Provider other = new Provider("org.acme.other", "3.0.0");
        assertThatThrownBy(() -> commands.add(other, command(ToolDescription.of("show", "Shows."), run -> {})))
                .hasMessage("org.acme.other 3.0.0 claims the command show, which org.acme.tools 1.0.0 has; stop or"
                        + " uninstall one of the two, or give it another name");
        assertThatThrownBy(() -> add("workers", run -> {}))
                .hasMessageContaining("org.acme.tools 1.0.0 claims the command workers, which is built in");
        assertThatThrownBy(() -> commands.add(ACME, command(null, run -> {}))).hasMessageContaining("no description");
        assertThatThrownBy(() -> ToolDescription.of("Show", "Shows.")).hasMessageContaining("lower-case letters");
        assertThatThrownBy(() -> ToolDescription.of("show", "Shows.").flag("--json", "JSON."))
                .hasMessageContaining("is one of every command");
    }

    @Test
    void boundsTheRunsOfABundle() {
        ToolDescription live = ToolDescription.of("live", "Runs on.").limit(Duration.ZERO);
        commands.add(ACME, command(live, run -> NEVER.await()));
        List<Long> begun = new ArrayList<>();
        for (int i = 0; i < ToolCommands.MAX_RUNS_OF_PROVIDER; i++) {
            begun.add(begin("live"));
        }
        assertThat(user.run("live").error()).contains("too many commands run: 8 of org.acme.tools 1.0.0 (max 8)");
        Provider other = new Provider("org.acme.other", "1.0.0");
        commands.add(other, command(ToolDescription.of("other", "Is another."), run -> run.line("runs")));
        assertThat(user.run("other").lines()).containsExactly("runs");
        begun.forEach(run -> user.call("tools.end", Map.of("run", Value.of(run))));
        begun.forEach(user::outcome);
        Waits.until(
                "there is room",
                () -> user.start("live", false).get(Value.of("error")).equals(Value.of("")));
    }
}
