package io.waybill.system;

import io.waybill.api.CallException;
import io.waybill.api.Invocation;
import io.waybill.api.Message;
import io.waybill.api.RRef;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.handler.Outbox;
import io.waybill.dispatch.ExecutorSettings;
import io.waybill.dispatch.HandlerKey;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.HandlerSpec;
import io.waybill.dispatch.Provider;
import io.waybill.worker.Worker;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The part of a {@link WorkerMain} that has remote references. It creates, fetches, passes on and closes them when it is told to, and its
 * functions add two ints, or keep the reference that they are given.
 */
final class ReferenceProgram {

    private static final Duration LONG = Duration.ofSeconds(30);

    private final Worker worker;
    private final Map<Integer, RRef> handles = new ConcurrentHashMap<>();
    private final AtomicInteger next = new AtomicInteger();
    private final ReferenceWalk walk;

    ReferenceProgram(Worker worker) {
        this.worker = worker;
        this.walk = new ReferenceWalk(worker);
    }

    /** What it does with references of its own accord. */
    ReferenceWalk walk() {
        return walk;
    }

    void serve(HandlerRegistry registry) {
        Provider provider = new Provider("functions", "1.0.0");
        registry.add(HandlerSpec.of(
                HandlerKey.parse("SCRIPT_CALL"),
                this::run,
                provider,
                registry.newExecutor(provider, ExecutorSettings.forProcessors(2))));
    }

    private void run(Message message, Outbox outbox) throws RejectedMessageException {
        Invocation call = message.invocation();
        List<Value> arguments = call.positional();
        if (call.name().equals("test::add")) {
            outbox.respond(Value.of(((Value.Int) arguments.get(0)).value() + ((Value.Int) arguments.get(1)).value()));
        } else if (call.name().equals(ReferenceWalk.TAKE)) {
            walk.take(((Value.OfRRef) arguments.get(0)).value().retain(), ((Value.Int) arguments.get(1)).value());
            outbox.respond(Value.NONE);
        } else {
            outbox.respond(
                    Value.of(keep(((Value.OfRRef) arguments.get(0)).value().retain())));
        }
    }

    private int keep(RRef reference) {
        int number = next.getAndIncrement();
        handles.put(number, reference);
        return number;
    }

    /** Does what a line says, and gives what became of it: a number, the counters, or the code of an error. */
    String obey(String[] words) {
        try {
            return switch (words[1]) {
                case "remote" -> String.valueOf(remote(words[2], number(words, 3), number(words, 4)));
                case "own" -> String.valueOf(keep(worker.rpc().rref(Value.of(number(words, 2)))));
                case "fetch" -> fetch((int) number(words, 2));
                case "send" -> send(words[2], (int) number(words, 3));
                case "close" -> close((int) number(words, 2));
                case "counters" -> worker.rpc().debugInfo().toString().replace(" ", "");
                default -> "what?";
            };
        } catch (CallException e) {
            return e.code().name();
        }
    }

    private static long number(String[] words, int index) {
        return Long.parseLong(words[index]);
    }

    private int remote(String to, long left, long right) {
        Invocation call = new Invocation("test::add", List.of(Value.of(left), Value.of(right)), Map.of());
        return keep(worker.rpc().remote(to, call));
    }

    private String fetch(int handle) {
        try (Response fetched = handles.get(handle).toHere(LONG)) {
            return String.valueOf(((Value.Int) fetched.value()).value());
        }
    }

    private String send(String to, int handle) {
        Invocation call = new Invocation("test::keep", List.of(Value.of(handles.get(handle))), Map.of());
        try (Response kept = worker.rpc().rpcSync(to, call)) {
            return String.valueOf(((Value.Int) kept.value()).value());
        }
    }

    private String close(int handle) {
        handles.remove(handle).close();
        return "closed";
    }
}
