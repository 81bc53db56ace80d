package io.waybill.cli.dead;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.MappingIterator;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.Message;
import io.waybill.api.MessageId;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.context.CallContext;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.handler.Outbox;
import io.waybill.archive.ArchiveSettings;
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
import io.waybill.testing.core.Waits;
import io.waybill.worker.Worker;
import io.waybill.worker.WorkerSettings;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;

/** A home with a caller, and a worker whose handlers of two bundles fail until they are fixed. */
final class FailingHome implements AutoCloseable {

    static final Provider ORDERS = new Provider("org.acme.orders", "1.0.0");
    static final Provider STOCK = new Provider("org.acme.stock", "2.1.0");

    /** Result of a command. */
    record Ran(int code, String out, String err) {

        List<JsonNode> json() throws IOException {
            try (MappingIterator<JsonNode> values =
                    new ObjectMapper().readerFor(JsonNode.class).readValues(out)) {
                return values.readAll();
            }
        }

        List<String> ids() throws IOException {
            return json().stream().map(call -> call.get("id").asText()).toList();
        }
    }

    private final Path temporary;
    private final Host host = Host.real();
    private final Home home;
    final Worker app;
    final Worker ps0;
    final List<String> runs = new CopyOnWriteArrayList<>(); // what handlers got
    volatile boolean isBroken = true;
    volatile boolean isHeld;

    FailingHome(Path temporary) throws IOException {
        this.temporary = temporary;
        home = Home.open(temporary.resolve("home"), host);
        app = join("app", WorkerSettings.defaults(), none());
        HandlerRegistry handlers = none();
        add(handlers, "orders.pay", this::pay, ORDERS);
        add(handlers, "orders.outer", this::outer, ORDERS);
        add(handlers, "0x142", this::raw, ORDERS);
        add(handlers, "0x100", (message, outbox) -> outbox.respond(Value.of(7)), ORDERS);
        add(handlers, "stock.take", this::take, STOCK);
        ps0 = join("ps0", WorkerSettings.defaults(), handlers);
    }

    private HandlerRegistry none() {
        return new HandlerRegistry(ParkingSettings.DEFAULT, host.threads(), host.clock());
    }

    private static void add(HandlerRegistry registry, String key, MessageHandler handler, Provider provider) {
        registry.add(HandlerSpec.of(
                HandlerKey.parse(key),
                handler,
                provider,
                registry.newExecutor(provider, ExecutorSettings.forProcessors(4))));
    }

    private Worker join(String name, WorkerSettings settings, HandlerRegistry handlers) throws IOException {
        Worker worker = Worker.join(home, name, JoinOptions.defaults(), settings, handlers);
        worker.ready(Map.of());
        return worker;
    }

    Worker joinWithoutArchive(String name) throws IOException {
        WorkerSettings settings =
                WorkerSettings.builder().archive(ArchiveSettings.NONE).build();
        return join(name, settings, none());
    }

    Worker join(String name) throws IOException {
        return join(name, WorkerSettings.defaults(), none());
    }

    private void pay(Message message, Outbox outbox) throws RejectedMessageException {
        CallContext context = CallContext.current();
        runs.add("pay " + message.int64("amount") + " note=" + message.text("note") + " tenant="
                + context.text("tenant").orElse("none") + " repeats="
                + context.text("waybill.repeats").orElse("none"));
        Waits.until("the handler is let go", () -> !isHeld);
        if (message.int64("amount") < 0) {
            throw new RejectedMessageException(ErrorCode.REFUSED, "no amount below zero");
        }
        requireFixed();
        outbox.response().text("said", "paid");
    }

    private void requireFixed() {
        if (isBroken) {
            throw new IllegalStateException("the till is broken");
        }
    }

    private void outer(Message message, Outbox outbox) throws RejectedMessageException {
        outbox.caller().call(pay(-1)).close();
        outbox.response();
    }

    private void raw(Message message, Outbox outbox) {
        byte[] payload = new byte[message.payload().remaining()];
        message.payload().duplicate().get(payload);
        runs.add("raw " + new String(payload, StandardCharsets.UTF_8));
        requireFixed();
        outbox.respond(ByteBuffer.allocate(0));
    }

    private void take(Message message, Outbox outbox) throws RejectedMessageException {
        byte[] bytes = new byte[(int) message.tensor("x").storage().sizeBytes()];
        message.tensor("x").storage().bytes(0, bytes.length).get(bytes);
        runs.add("take " + bytes.length + " "
                + Arrays.toString(message.tensor("x").sizes()) + " of " + bytes[0] + " to " + bytes[bytes.length - 1]);
        requireFixed();
        outbox.response();
    }

    static Request pay(long amount) {
        Request request = Request.operation("ps0", "orders.pay");
        request.body().int64("amount", amount).text("note", "first");
        return request;
    }

    /** Makes a call that fails, and returns its id. */
    String failed(Request request) {
        return failed(app, request);
    }

    static String failed(Worker caller, Request request) {
        try (Response response = caller.call(request)) {
            throw new AssertionError("expected a failed call, got " + response);
        } catch (CallException e) {
            return MessageId.text(e.messageId());
        }
    }

    /** Returns how many requests went to an operation of ps0, according to the journals. */
    long requests(String operation) throws IOException {
        return run("journal", "list", "--operation", operation, "--limit", "0", "--json")
                .json()
                .size();
    }

    Ran run(String... args) {
        StringWriter out = new StringWriter();
        StringWriter err = new StringWriter();
        Surroundings surroundings = new Surroundings(
                new PrintWriter(out),
                new PrintWriter(err),
                Surroundings.Watcher.PROGRAM,
                home.path(),
                Optional.empty(),
                temporary,
                "17",
                Map.of());
        return new Ran(Commands.run(surroundings, args), out.toString(), err.toString());
    }

    /** Runs a command that has to end with this code. */
    Ran ended(int code, String... args) {
        Ran ran = run(args);
        assertThat(ran.code())
                .as("%s printed %s%s", List.of(args), ran.out(), ran.err())
                .isEqualTo(code);
        return ran;
    }

    /** Returns the words that run a command in a process of its own. */
    List<String> process(String... args) {
        List<String> words = new ArrayList<>();
        words.add(ProcessHandle.current().info().command().orElseThrow());
        java.lang.management.ManagementFactory.getRuntimeMXBean().getInputArguments().stream()
                .filter(argument -> argument.startsWith("--add-") || argument.startsWith("--enable-"))
                .forEach(words::add);
        words.addAll(List.of("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"));
        words.addAll(List.of("-cp", System.getProperty("java.class.path"), "io.waybill.cli.Main"));
        words.addAll(List.of(args));
        words.addAll(List.of("--home", home.path().toString()));
        return words;
    }

    @Override
    public void close() throws IOException {
        isHeld = false;
        app.close();
        ps0.close();
    }
}
