package io.waybill.cli.conformance.play;

import io.waybill.api.ErrorCode;
import io.waybill.api.Invocation;
import io.waybill.api.LateResponse;
import io.waybill.api.Message;
import io.waybill.api.MessageHandler;
import io.waybill.api.Outbox;
import io.waybill.api.RRef;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.WorkerInfo;
import io.waybill.dispatch.ExecutorSettings;
import io.waybill.dispatch.HandlerExecutor;
import io.waybill.dispatch.HandlerKey;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.HandlerSpec;
import io.waybill.dispatch.Provider;
import io.waybill.worker.Worker;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The operations that every worker of a case serves, in the place of the Python functions of the peer's tests. The reference of the
 * format describes them.
 *
 * <p><b>Threads.</b> Any.
 */
final class Operations {

    private static final String PREFIX = "conformance.";
    private static final ExecutorSettings THREADS = ExecutorSettings.forProcessors(2);

    private final WorkerInfo self;
    private final Gates gates;
    private final Worker worker;
    private final SharedReferences references;
    private final Gathering gathering = new Gathering();

    Operations(Worker worker, Gates gates, SharedReferences references) {
        this.self = worker.info();
        this.worker = worker;
        this.gates = gates;
        this.references = references;
    }

    void publish(HandlerRegistry registry, String version) {
        Provider provider = new Provider("conformance", version);
        HandlerExecutor executor = registry.newExecutor(provider, THREADS);
        Map<String, MessageHandler> handlers = new LinkedHashMap<>();
        handlers.put("echo", Operations::echo);
        handlers.put("fail", Operations::fail);
        handlers.put("throw", Operations::throwError);
        handlers.put("whoami", this::whoami);
        handlers.put("hold", this::hold);
        handlers.put("block", this::block);
        handlers.put("nothing", (message, outbox) -> {});
        handlers.put("nested", NestedCalls::blocking);
        handlers.put("chain", NestedCalls::chain);
        handlers.put("fanout", NestedCalls::fanOut);
        handlers.put("gather", gathering);
        handlers.put("fetch", SharedReferences::fetch);
        handlers.put("left", Operations::left);
        handlers.put("sum", SharedReferences::sum);
        handlers.put("confirmed", SharedReferences::confirmed);
        handlers.put("refer", AnsweredReferences::refer);
        handlers.put("own", AnsweredReferences::own);
        handlers.put("forward", AnsweredReferences::forward);
        handlers.put("increase", (message, outbox) -> AnsweredReferences.increase(message, outbox, self.name()));
        handlers.put("keep", references::keep);
        handlers.put("kept", references::kept);
        handlers.put("drop", references::drop);
        handlers.forEach((name, handler) -> {
            registry.add(HandlerSpec.of(HandlerKey.parse(PREFIX + name), handler, provider, executor));
            // the result of a function can stay with its owner
            HandlerKey function = HandlerKey.parse(HandlerKey.FUNCTION_PREFIX + PREFIX + name);
            registry.add(HandlerSpec.of(function, handler, provider, executor));
        });
    }

    /** Leaves the result of the call that its arguments are where it is made, fetches it, and gives it back. */
    private static void left(Message message, Outbox outbox) throws RejectedMessageException {
        List<Value> positional = message.invocation().positional();
        Invocation call = new Invocation(text(message, 1), positional.subList(2, positional.size()), Map.of());
        try (RRef reference = outbox.rpc().remote(text(message, 0), call);
                Response response = reference.toHere()) {
            outbox.respond(Held.retain(response.value()));
        }
    }

    private static void echo(Message message, Outbox outbox) throws RejectedMessageException {
        outbox.respond(Held.retain(arguments(message.invocation())));
    }

    /** The only argument; all as a tuple when there are several; the named ones as a dict when there are no others. */
    private static Value arguments(Invocation call) {
        List<Value> positional = call.positional();
        if (!positional.isEmpty()) {
            return positional.size() == 1 ? positional.get(0) : new Value.Tuple(positional);
        }
        Map<Value, Value> named = new LinkedHashMap<>();
        call.named().forEach((name, value) -> named.put(Value.of(name), value));
        return new Value.Dict(named);
    }

    private static void fail(Message message, Outbox outbox) throws RejectedMessageException {
        int last = message.invocation().positional().size() - 1;
        throw new RejectedMessageException(ErrorCode.REFUSED, text(message, Math.max(0, last)));
    }

    private static void throwError(Message message, Outbox outbox) throws RejectedMessageException {
        throw new IllegalStateException(text(message, 0));
    }

    private void whoami(Message message, Outbox outbox) {
        Map<Value, Value> fields = new LinkedHashMap<>();
        fields.put(Value.of("id"), Value.of(self.id()));
        fields.put(Value.of("name"), Value.of(self.name()));
        fields.put(Value.of("from"), Value.of(message.from()));
        outbox.respond(new Value.Dict(fields));
    }

    /** Answers with the second argument when the gate is opened; no thread waits. */
    private void hold(Message message, Outbox outbox) throws RejectedMessageException {
        Value value = Held.retain(argument(message, 1));
        LateResponse reply = outbox.later();
        gates.pass(text(message, 0), () -> reply.send(value));
    }

    /** The same, and the thread waits. */
    private void block(Message message, Outbox outbox) throws RejectedMessageException {
        gates.await(text(message, 0));
        outbox.respond(Held.retain(argument(message, 1)));
    }

    static Value argument(Message message, int index) throws RejectedMessageException {
        List<Value> positional = message.invocation().positional();
        if (index >= positional.size()) {
            throw new RejectedMessageException(
                    ErrorCode.MALFORMED_BODY, "argument " + index + " of " + positional.size() + " is missing");
        }
        return positional.get(index);
    }

    static String text(Message message, int index) throws RejectedMessageException {
        if (argument(message, index) instanceof Value.Text text) {
            return text.value();
        }
        throw new RejectedMessageException(ErrorCode.MALFORMED_BODY, "argument " + index + " must be a string");
    }
}
