package io.waybill.crash;

import io.waybill.api.Message;
import io.waybill.api.MessageType;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.handler.Outbox;
import io.waybill.api.tensor.Tensor;
import io.waybill.crash.history.Event;
import io.waybill.crash.history.Event.Kind;
import io.waybill.crash.history.EventLog;
import io.waybill.dispatch.DeliveryPolicy;
import io.waybill.dispatch.ExecutorSettings;
import io.waybill.dispatch.HandlerExecutor;
import io.waybill.dispatch.HandlerKey;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.HandlerSpec;
import io.waybill.dispatch.Provider;
import io.waybill.host.Clock;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.locks.LockSupport;

/** The handlers of a run: each writes down what it begins and what it responds with. Thread-safe. */
final class Server {

    private static final long SLOW_NS = 30_000_000;
    private static final ExecutorSettings ONE_THREAD = new ExecutorSettings(1, 1, 0, 0, Duration.ofSeconds(10));

    private final EventLog log;
    private final Clock clock;
    private final long epoch;

    Server(EventLog log, Clock clock, long epoch) {
        this.log = log;
        this.clock = clock;
        this.epoch = epoch;
    }

    void serve(HandlerRegistry registry) {
        add(registry, ServedTypes.INLINE, true, ExecutorSettings.forProcessors(2), this::response);
        add(registry, ServedTypes.SERIAL, false, ONE_THREAD, this::response);
        add(registry, ServedTypes.TENSOR, false, ExecutorSettings.forProcessors(2), this::response);
        add(registry, ServedTypes.SLOW, false, ExecutorSettings.forProcessors(2), this::respondSlowly);
        add(registry, ServedTypes.AGAIN, true, ExecutorSettings.forProcessors(2), this::response);
    }

    /** Responds to a request of any of the types, for a handler that comes from elsewhere. */
    void handle(Message message, Outbox outbox) {
        if (message.type().equals(ServedTypes.SLOW)) {
            respondSlowly(message, outbox);
        } else {
            response(message, outbox);
        }
    }

    private static void add(
            HandlerRegistry registry,
            MessageType type,
            boolean inline,
            ExecutorSettings threads,
            MessageHandler handler) {
        Provider provider = new Provider("crash-" + type.code(), "1.0.0");
        HandlerExecutor executor = registry.newExecutor(provider, threads);
        HandlerSpec spec = new HandlerSpec(
                List.of(HandlerKey.parse(String.format("0x%x", type.code()))),
                handler,
                inline,
                provider,
                0,
                Server.class.getClassLoader(),
                executor);
        registry.add(type.equals(ServedTypes.AGAIN) ? spec.withDelivery(DeliveryPolicy.AT_LEAST_ONCE) : spec);
    }

    private void response(Message message, Outbox outbox) {
        begun(message);
        respond(message, outbox);
    }

    private void respondSlowly(Message message, Outbox outbox) {
        begun(message);
        long untilNs = clock.monotonicNs() + SLOW_NS;
        while (clock.monotonicNs() < untilNs) {
            LockSupport.parkNanos(untilNs - clock.monotonicNs());
        }
        respond(message, outbox);
    }

    private void begun(Message message) {
        int digest = Payloads.digest(message.payload());
        boolean whole = message.tensors().stream().allMatch(tensor -> isWhole(tensor, message.payload()));
        log.add(new Event(
                Kind.BEGUN, message.isRedelivery() ? 1 : 0, whole ? digest : ~digest, message.id(), clock.bootNs(), 0));
    }

    private static boolean isWhole(Tensor tensor, ByteBuffer request) {
        ByteBuffer bytes = tensor.storage().bytes(0, Payloads.TENSOR_BYTES);
        for (int i = 0; i < Payloads.TENSOR_BYTES; i++) {
            if (bytes.get(i) != Payloads.tensor(request, i)) {
                return false;
            }
        }
        return true;
    }

    private void respond(Message message, Outbox outbox) {
        byte[] response = Payloads.response(message.id(), epoch, message.payload());
        log.add(new Event(Kind.RESPONDED, 0, Payloads.digest(response), message.id(), clock.bootNs(), 0));
        outbox.respond(ByteBuffer.wrap(response));
    }
}
