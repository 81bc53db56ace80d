package org.acme.cache;

import io.waybill.api.RejectedMessageException;
import io.waybill.api.Value;
import io.waybill.api.ValueDecoder;
import io.waybill.api.broker.Broker;
import io.waybill.api.broker.Counter;
import io.waybill.api.handler.Outbox;
import io.waybill.api.intercept.HandledMessage;
import io.waybill.api.intercept.HandlerInterceptor;
import io.waybill.api.intercept.InterceptedMessage;
import io.waybill.api.intercept.InterceptsMessage;
import io.waybill.api.state.StateFullException;
import io.waybill.api.state.StatePolicy;
import io.waybill.api.state.StateStore;
import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Reference;

/**
 * Responds, in place of the handler, to a request that had a response in the last ten minutes. Requests and responses
 * with tensors or references pass it by. The property {@code waybill.intercepts.message} in
 * {@code conf/org.acme.cache.ResponseCache.cfg} sets other operations. Its figures are the counter {@code hits} and the
 * gauge {@code responses}.
 */
@Component
@InterceptsMessage("text.*")
public final class ResponseCache implements HandlerInterceptor {

    private static final StatePolicy TEN_MINUTES =
            new StatePolicy(Duration.ofMinutes(10), Duration.ZERO, StatePolicy.WhenFull.EVICT);

    private final StateStore responses;
    private final Counter hits;

    @Activate
    public ResponseCache(@Reference Broker broker) {
        responses = broker.state("responses", TEN_MINUTES);
        hits = broker.counter("hits");
        broker.gauge("responses", () -> responses.usage().entries());
    }

    @Override
    public void before(InterceptedMessage message, Outbox outbox) {
        if (!message.tensors().isEmpty() || !message.references().isEmpty()) {
            return;
        }
        String key = key(message.type().code(), message.payload());
        Optional<Value> known = responses.get(key);
        if (known.isPresent()) {
            hits.increment();
            outbox.respond(known.get());
        } else {
            message.attach(key);
        }
    }

    @Override
    public void after(HandledMessage handled) {
        if (handled.attachment() == null || handled.error().isPresent()) {
            return;
        }
        try {
            ValueDecoder decoder = new ValueDecoder(handled.payload(), List.of());
            Value value = decoder.value(); // fails if it has a tensor or a reference
            decoder.end();
            responses.put((String) handled.attachment(), value);
        } catch (RejectedMessageException | StateFullException e) {
            // not kept: the next request goes to the handler
        }
    }

    private static String key(int type, ByteBuffer payload) {
        try {
            MessageDigest digest = MessageDigest.getInstance("SHA-256");
            digest.update(payload);
            return type + " " + HexFormat.of().formatHex(digest.digest());
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every JVM has SHA-256", e);
        }
    }
}
