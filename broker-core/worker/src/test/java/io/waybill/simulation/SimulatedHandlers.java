package io.waybill.simulation;

import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.handler.LateResponse;
import io.waybill.api.handler.MessageHandler;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.function.Consumer;

/** The handlers of a simulation, and the responses that they have deferred. <b>Threads.</b> The simulation's. */
final class SimulatedHandlers {

    private static final String PLAIN = "sim.plain";
    private static final String POLLED = "sim.polled";
    private static final String BRIEF = "sim.brief";
    private static final String LATE = "sim.late";
    private static final String SLOW = "sim.slow";
    private static final String FAILING = "sim.failing";
    private static final String NESTED = "sim.nested";
    private static final String INNER = "sim.inner";
    private static final int MAX_SLOW_NS = 8_000_000;
    private static final int BRIEF_PAUSES_ONE_IN = 4;
    private static final int MAX_BRIEF_NS = 200_000; // more or less than a short handler takes
    private static final int LEFT_ONE_IN = 8;

    private final Random random;
    private final Consumer<String> note;
    private final Consumer<String> problem;
    private final SimulatedObjects objects;
    private final Map<String, Handling> kinds = new LinkedHashMap<>();
    private final List<Deferred> deferred = new ArrayList<>();
    private final List<Deferred> left = new ArrayList<>();
    private final Set<String> ran = new HashSet<>();

    /** What an operation does, in the worker that it is installed in. */
    private interface Handling {
        MessageHandler in(SimulatedMember member);
    }

    private record Deferred(SimulatedMember member, long number, LateResponse late) {}

    SimulatedHandlers(Random random, Consumer<String> note, Consumer<String> problem) {
        this.random = random;
        this.note = note;
        this.problem = problem;
        this.objects = new SimulatedObjects(random, problem);
        Handling plain = member -> (message, outbox) -> outbox.response().int64("n", message.int64("n"));
        kinds.put(PLAIN, plain);
        kinds.put(POLLED, plain);
        kinds.put(BRIEF, member -> (message, outbox) -> {
            long number = message.int64("n");
            if (random.nextInt(BRIEF_PAUSES_ONE_IN) == 0) {
                member.process().host().threads().pause(random.nextInt(MAX_BRIEF_NS));
            }
            outbox.response().int64("n", number);
        });
        kinds.put(
                LATE,
                member -> (message, outbox) -> deferred.add(new Deferred(member, message.int64("n"), outbox.later())));
        kinds.put(SLOW, member -> (message, outbox) -> {
            long number = message.int64("n");
            member.process().host().threads().pause(random.nextInt(MAX_SLOW_NS));
            outbox.response().int64("n", number);
        });
        kinds.put(FAILING, member -> (message, outbox) -> {
            throw new IllegalStateException("by the test");
        });
        kinds.put(NESTED, member -> (message, outbox) -> {
            Request request = Request.operation(message.text("next"), random.nextBoolean() ? PLAIN : LATE);
            request.body().int64("n", message.int64("n"));
            try (Response response = outbox.caller().call(request)) {
                outbox.response().int64("n", response.int64("n"));
            }
        });
        kinds.put(INNER, member -> (message, outbox) -> {
            Request request = Request.operation(member.name(), random.nextBoolean() ? PLAIN : LATE);
            request.body().int64("n", message.int64("n"));
            ByteBuffer payload = ByteBuffer.wrap(request.payloadArray(), 0, request.payloadLength());
            try (Response response = outbox.dispatch(MessageType.NAMED_CALL, payload, List.of(), List.of())) {
                outbox.response().int64("n", response.int64("n"));
            }
        });
        kinds.put(SimulatedObjects.TENSOR, objects::takingTensors);
        kinds.put(SimulatedObjects.READING, member -> SimulatedObjects::read);
        kinds.put(SimulatedObjects.GIVING, member -> SimulatedObjects::give);
    }

    /** Returns a call of the plainest operation. */
    static Request plain(String to, long number) {
        return numbered(to, PLAIN, number);
    }

    /** Returns a call of an operation that takes some microseconds. */
    static Request brief(String to, long number) {
        return numbered(to, BRIEF, number);
    }

    private static Request numbered(String to, String operation, long number) {
        Request request = Request.operation(to, operation).timeout(Duration.ofMinutes(1));
        request.body().int64("n", number);
        return request;
    }

    SimulatedObjects objects() {
        return objects;
    }

    /** Returns interceptors for a worker. */
    SimulatedInterceptors interceptors() {
        return new SimulatedInterceptors(random, problem);
    }

    String anyOperation() {
        return List.copyOf(kinds.keySet()).get(random.nextInt(kinds.size()));
    }

    void installAll(SimulatedMember member) {
        kinds.keySet().forEach(operation -> install(member, operation));
    }

    void install(SimulatedMember member, String operation) {
        MessageHandler handler = kinds.get(operation).in(member);
        member.install(operation, counted(member, handler), operation.equals(POLLED));
    }

    /** No request may run twice: all of these handlers are at-most-once. */
    private MessageHandler counted(SimulatedMember member, MessageHandler handler) {
        return (message, outbox) -> {
            String which = message.operation() + " " + message.id() + " at " + member.name();
            note.accept("runs " + which);
            if (!ran.add(which)) {
                problem.accept(which + " ran twice");
            }
            handler.handle(message, outbox);
        };
    }

    /** Completes a deferred response, or leaves it for the end. */
    void completeOne() {
        if (!deferred.isEmpty()) {
            Deferred one = deferred.remove(random.nextInt(deferred.size()));
            if (random.nextInt(LEFT_ONE_IN) == 0) {
                left.add(one);
            } else {
                complete(one);
            }
        }
    }

    void completeAll() {
        while (!deferred.isEmpty()) {
            complete(deferred.remove(0));
        }
    }

    /** Completes what was left, whose callers have their timeouts by now. */
    void completeLeft() {
        deferred.addAll(left);
        left.clear();
        completeAll();
    }

    private static void complete(Deferred one) {
        one.late().body().int64("n", one.number());
        one.late().send();
    }

    /** Forgets what a killed worker has deferred. */
    void forget(SimulatedMember member) {
        deferred.removeIf(each -> each.member() == member);
        left.removeIf(each -> each.member() == member);
    }
}
