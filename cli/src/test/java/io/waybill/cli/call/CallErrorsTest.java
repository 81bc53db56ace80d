package io.waybill.cli.call;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.ErrorCode;
import io.waybill.api.Invocation;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Value;
import io.waybill.api.handler.FieldType;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.handler.OperationDescription;
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
import io.waybill.host.Host;
import io.waybill.worker.Worker;
import io.waybill.worker.WorkerSettings;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What {@code waybill call} says of a call that failed. */
@Timeout(value = 120, unit = TimeUnit.SECONDS)
class CallErrorsTest {

    @TempDir
    Path temporary;

    private final Host host = Host.real();
    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();
    private final HandlerRegistry registry = new HandlerRegistry(ParkingSettings.DEFAULT, host.threads(), host.clock());
    private final CompletableFuture<Void> released = new CompletableFuture<>();
    private Worker worker;

    @BeforeEach
    void join() throws IOException {
        Home home = Home.open(temporary.resolve("home"), host);
        worker = Worker.join(home, "ps0", JoinOptions.defaults().withId(7), WorkerSettings.defaults(), registry);
    }

    @AfterEach
    void leave() throws IOException {
        released.complete(null);
        worker.close();
    }

    private HandlerRegistry.Registration serve(String key, MessageHandler handler) throws IOException {
        Provider provider = new Provider("test-" + key, "1.0.0");
        HandlerRegistry.Registration registration = registry.add(HandlerSpec.of(
                HandlerKey.parse(key),
                handler,
                provider,
                registry.newExecutor(provider, ExecutorSettings.forProcessors(2))));
        worker.ready(Map.of());
        return registration;
    }

    @Test
    void saysThatItWaitsForTheStartOfItsCallee() {
        run("call", "--to", "ps0", "--timeout", "2s", "text.count"); // it has joined, and is not ready

        assertThat(err.toString())
                .contains("waiting for ps0 to respond, and before it for its start\n")
                .contains("nothing was sent, because worker ps0 is still starting");
    }

    @Test
    void pythonFunctionsAreCalledWithValuesAndTheirErrorsAreFailures() throws IOException {
        serve("PYTHON_CALL", (message, outbox) -> {
            Invocation call = message.invocation();
            boolean fails = call.name().equals("math:fail");
            Value said = Value.of(
                    call.name() + call.positional().size() + call.named().keySet());
            outbox.respond(new Value.Dict(Map.of(
                    Value.of(fails ? "error" : "result"), said, Value.of("type"), Value.of("builtins:ValueError"))));
        });

        assertThat(run("call", "--to", "ps0", "math:hypot", "3", "[1,2]", "by=x"))
                .as(err::toString)
                .isZero();
        assertThat(out.toString()).isEqualToIgnoringNewLines("'math:hypot2[by]'");
        assertThat(run("call", "--to", "ps0", "math:fail")).isEqualTo(1);
        assertThat(err.toString()).contains("math:fail0[]; its record: waybill journal show ");
    }

    private int run(String... words) {
        Surroundings surroundings = new Surroundings(
                new PrintWriter(out),
                new PrintWriter(err),
                Surroundings.Watcher.PROGRAM,
                temporary.resolve("home"),
                Optional.empty(),
                temporary,
                "17",
                Map.of());
        return Commands.run(surroundings, words);
    }

    private String failure(String... words) {
        String[] all = new String[words.length + 3];
        all[0] = "call";
        all[1] = "--to";
        all[2] = "ps0";
        System.arraycopy(words, 0, all, 3, words.length);
        assertThat(run(all)).as(out.toString()).isEqualTo(1);
        assertThat(err.toString()).hasLineCount(1);
        return err.toString();
    }

    @Test
    void namesTheWorkerTheRecordAndTheCode() throws IOException {
        serve("text.count", (message, outbox) -> message.text("text"));
        String line = failure("text.count", "txt=a");
        assertThat(line)
                .matches(
                        "waybill call: Error on ps0: the field text is missing; its record: waybill journal show \\d+\\.\\d+"
                                + " \\[MALFORMED_BODY]\n");

        String id = line.replaceAll(".*show (\\S+) .*\n", "$1");
        assertThat(run("journal", "show", id)).isZero();
        assertThat(out.toString()).contains("error    MALFORMED_BODY");
    }

    @Test
    void namesTheDescribedArgumentsOfARefusedCall() throws IOException {
        Provider provider = new Provider("test", "1.0.0");
        OperationDescription description = OperationDescription.of("text.count", "Counts the words of a text.")
                .argument("text", FieldType.TEXT, "what is counted")
                .optionalArgument("max", FieldType.INTEGER, "where it ends");
        registry.add(HandlerSpec.of(
                        HandlerKey.parse("text.count"),
                        (message, outbox) -> outbox.response().text("text", message.text("text")),
                        provider,
                        registry.newExecutor(provider, ExecutorSettings.forProcessors(2)))
                .withDescriptions(List.of(description)));
        worker.ready(Map.of());

        assertThat(failure("text.count", "txt=a"))
                .contains(
                        "the field text is missing; text.count takes text (text), max (integer, optional); its record: ")
                .endsWith("[MALFORMED_BODY]\n");
        assertThat(run("call", "--to", "ps0", "text.count", "text=a", "other=b"))
                .as("a call that the handler accepts, with an argument that is not described")
                .isZero();
    }

    @Test
    void saysWhereOperationsAreListedWhenOneIsUnknown() throws IOException {
        worker.ready(Map.of());
        assertThat(failure("text.cuont"))
                .contains("; see what it serves: waybill operations --worker ps0; its record: ")
                .endsWith("[UNKNOWN_OPERATION]\n");
    }

    @Test
    void saysWhichMarkSendsAValue() throws IOException {
        serve("pay.charge", (message, outbox) -> message.int64("amount"));
        assertThat(failure("pay.charge", "amount=1500"))
                .contains("; text was sent, and amount:=1500 sends a value; its record: ");
    }

    @Test
    void leavesARefusalInItsOwnWords() throws IOException {
        serve("text.count", (message, outbox) -> {
            throw new RejectedMessageException(ErrorCode.REFUSED, "Error on Node 8: not today");
        });
        assertThat(failure("text.count")).startsWith("waybill call: Error on Node 8: not today; its record: ");
    }

    @Test
    void saysWhenTheRequestIsParked() throws IOException {
        HandlerRegistry.Registration registration = serve("text.count", (message, outbox) -> outbox.response());
        registration.withdraw(Duration.ofSeconds(30));
        worker.ready(Map.of());
        assertThat(failure("--timeout", "2s", "text.count"))
                .contains("; ps0 has no handler for text.count now, and parks such requests until one is installed:"
                        + " waybill bundle install --node ps0 FILE.jar; its record: waybill journal show ")
                .endsWith("; allow more time with --timeout [TIMED_OUT]\n");
    }

    @Test
    void doesNotSayThatARequestIsParkedForAnOperationThatNeverWas() throws IOException {
        registry.expectMore(); // as while a node starts, when every request parks
        worker.ready(Map.of());
        assertThat(failure("--timeout", "2s", "text.count"))
                .contains("; ps0 has no handler for text.count, and had none that left: see what it serves:"
                        + " waybill workers --json; its record: waybill journal show ")
                .endsWith("[TIMED_OUT]\n");
    }

    @Test
    void doesNotSayThatARequestIsParkedThatIsServed() throws IOException {
        serve("text.*", (message, outbox) -> {
            released.join();
        });
        assertThat(failure("--timeout", "2s", "text.count"))
                .doesNotContain("parks")
                .endsWith("[TIMED_OUT]\n");
    }

    @Test
    void hasNoRecordOfWhatWasNotSent() {
        assertThat(run("call", "--to", "nobody", "text.count")).isEqualTo(1);
        assertThat(err.toString())
                .doesNotContain("journal show")
                .endsWith("; see who is there: waybill workers [UNKNOWN_WORKER]\n");
    }
}
