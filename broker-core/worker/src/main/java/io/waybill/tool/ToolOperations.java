package io.waybill.tool;

import io.waybill.api.ErrorCode;
import io.waybill.api.Message;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Value;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.handler.Outbox;
import io.waybill.api.tool.ToolDescription;
import io.waybill.api.tool.ToolFailedException;
import io.waybill.dispatch.ExecutorSettings;
import io.waybill.dispatch.HandlerExecutor;
import io.waybill.dispatch.HandlerKey;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.HandlerSpec;
import io.waybill.dispatch.Provider;
import io.waybill.host.failure.CloseSteps;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Control operations by which {@code waybill} runs a command of a worker.
 *
 * <pre>
 * control:tools.list                        {commands: [{name, summary, help, options: [{name, value, text}], argument, min_arguments,
 *                                            max_arguments, limit_ms, provider, version, runs, failed, stuck}]}
 * control:tools.run   name, words, json     {run, exit, error}
 * control:tools.read  run                   {items: [text | (document)], done, exit, error}
 * control:tools.end   run                   {}
 * </pre>
 *
 * <p>A run that could not begin has the number 0, and its exit code and error at once. A read waits up to a second for
 * output. Only the worker that began a run may read and end it; when it does not read for 10 s, the run ends.
 *
 * <p><b>Threads.</b> Separate threads: a read waits on one.
 */
final class ToolOperations implements AutoCloseable {

    private static final Duration CLOSE_LIMIT = Duration.ofSeconds(1);
    private static final Provider SELF = new Provider("waybill-tools", "1");

    private final ToolCommands commands;
    private final HandlerExecutor executor;
    private final List<HandlerRegistry.Registration> registrations = new ArrayList<>();

    ToolOperations(ToolCommands commands, HandlerRegistry handlers) {
        this.commands = commands;
        this.executor = handlers.newExecutor(
                SELF,
                new ExecutorSettings(
                        1,
                        ToolCommands.MAX_RUNS * 2,
                        ExecutorSettings.GROW_DELAY_NS_DEFAULT,
                        0,
                        ExecutorSettings.KEEP_ALIVE_DEFAULT));
        publish(handlers, "list", (message, outbox) -> outbox.response().value("commands", list()));
        publish(handlers, "run", this::run);
        publish(handlers, "read", this::read);
        publish(handlers, "end", (message, outbox) -> {
            session(message).cancel("by its user");
            outbox.response();
        });
    }

    private void publish(HandlerRegistry handlers, String name, MessageHandler handler) {
        HandlerKey key = new HandlerKey.OfControl("tools." + name);
        registrations.add(handlers.add(HandlerSpec.of(key, handler, SELF, executor)));
    }

    private void run(Message message, Outbox outbox) throws RejectedMessageException {
        String name = message.text("name");
        List<String> words = words(message.value("words"));
        ToolSession.Start start = new ToolSession.Start(message.id(), message.from(), message.bool("json"));
        try {
            outbox.response()
                    .int64("run", commands.run(name, words, start))
                    .int64("exit", 0)
                    .text("error", "");
        } catch (ToolFailedException e) {
            outbox.response().int64("run", 0).int64("exit", e.exitCode()).text("error", e.getMessage());
        }
    }

    private static List<String> words(Value list) throws RejectedMessageException {
        List<String> words = new ArrayList<>();
        if (list instanceof Value.Items items) {
            for (Value item : items.values()) {
                if (item instanceof Value.Text text) {
                    words.add(text.value());
                }
            }
            if (words.size() == items.values().size()) {
                return words;
            }
        }
        throw new RejectedMessageException(ErrorCode.MALFORMED_BODY, "words: expected a list of texts");
    }

    private void read(Message message, Outbox outbox) throws RejectedMessageException {
        ToolSession.Output output = session(message).read();
        outbox.response()
                .value("items", new Value.Items(output.items()))
                .bool("done", output.isDone())
                .int64("exit", output.exitCode())
                .text("error", output.error());
    }

    private ToolSession session(Message message) throws RejectedMessageException {
        long run = message.int64("run");
        ToolSession session = commands.session(run, message.from());
        if (session == null) {
            throw new RejectedMessageException(
                    ErrorCode.REFUSED,
                    "worker " + message.from() + " has no run " + run + " of a command: it has ended");
        }
        return session;
    }

    private Value list() {
        return new Value.Items(
                commands.commands().stream().map(ToolOperations::value).toList());
    }

    private static Value value(ToolEntry entry) {
        ToolDescription description = entry.description();
        Map<Value, Value> fields = new LinkedHashMap<>();
        put(fields, "name", Value.of(description.name()));
        put(fields, "summary", Value.of(description.summary()));
        put(fields, "help", Value.of(description.help()));
        List<Value> options = new ArrayList<>();
        description.options().forEach(option -> {
            Map<Value, Value> parts = new LinkedHashMap<>();
            put(parts, "name", Value.of(option.name()));
            put(parts, "value", Value.of(option.value()));
            put(parts, "text", Value.of(option.text()));
            options.add(new Value.Dict(parts));
        });
        put(fields, "options", new Value.Items(options));
        put(fields, "argument", Value.of(description.argument()));
        put(fields, "min_arguments", Value.of(description.minArguments()));
        put(fields, "max_arguments", Value.of(description.maxArguments()));
        put(fields, "limit_ms", Value.of(description.limit().toMillis()));
        put(fields, "provider", Value.of(entry.provider().name()));
        put(fields, "version", Value.of(entry.provider().version()));
        put(fields, "runs", Value.of(entry.counts().runs()));
        put(fields, "failed", Value.of(entry.counts().failures()));
        put(fields, "stuck", Value.of(entry.counts().stuckNow()));
        return new Value.Dict(fields);
    }

    private static void put(Map<Value, Value> fields, String name, Value value) {
        fields.put(Value.of(name), value);
    }

    @Override
    public void close() {
        CloseSteps steps = new CloseSteps();
        registrations.forEach(registration -> steps.attempt(() -> registration.withdraw(CLOSE_LIMIT)));
        steps.attempt(() -> executor.close(CLOSE_LIMIT)).finishUnchecked();
    }
}
