package io.waybill.python.link;

import io.waybill.api.CallException;
import io.waybill.api.Caller;
import io.waybill.api.ErrorCode;
import io.waybill.api.Invocation;
import io.waybill.api.MessageType;
import io.waybill.api.RRef;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.ValueEncoder;
import io.waybill.api.WorkerInfo;
import io.waybill.api.broker.Broker;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;

/** Operations with which a process creates and uses references to objects and other values. Thread-safe. */
final class RemoteObjects {

    private final ProcessLink link;
    private final Broker broker;

    RemoteObjects(ProcessLink link, Broker broker) {
        this.link = link;
        this.broker = broker;
    }

    /** Creates a reference to an object of the process; the caller closes it. */
    RRef make(Invocation call) throws RejectedMessageException {
        if (!(call.named().get("object") instanceof Value.Int number)) {
            throw new RejectedMessageException(
                    ErrorCode.MALFORMED_BODY, call.name() + " takes object, the number of one, an int");
        }
        KeptObject object = new KeptObject(link, number.value());
        try {
            return broker.rpc().rref(object.value(), KeptObject.TYPE);
        } finally {
            object.release(); // the reference has a count of its own
        }
    }

    /** Returns a future of the number of the object that an owned reference names. */
    CompletableFuture<Value> local(Invocation call, long timeoutNs) throws RejectedMessageException {
        RRef reference = reference(call);
        if (!reference.isOwner()) {
            throw new RejectedMessageException(
                    ErrorCode.REFUSED,
                    call.name() + " takes a reference to a value of this worker, and this one's owner is worker "
                            + reference.owner());
        }
        return holding(
                reference,
                held -> limited(held.toHereAsync(Duration.ZERO), timeoutNs).thenApply(this::numberIn));
    }

    private Value numberIn(Response value) {
        try (value) {
            KeptObject object = KeptObject.in(value);
            if (object.link() != link) {
                throw new RejectedMessageException(
                        ErrorCode.REFUSED, "the reference names an object of another process of this node");
            }
            return dict("object", Value.of(object.number()));
        } catch (RejectedMessageException e) {
            throw new CompletionException(e);
        }
    }

    private static <T> CompletableFuture<T> limited(CompletableFuture<T> future, long timeoutNs) {
        return timeoutNs > 0 ? future.orTimeout(timeoutNs, TimeUnit.NANOSECONDS) : future;
    }

    /**
     * Returns a future of the value: for an object in a process, the process's encoding of it; otherwise the value
     * itself.
     */
    CompletableFuture<Response> fetch(Invocation call, Caller caller, long timeoutNs) throws RejectedMessageException {
        return holding(reference(call), held -> fetch(held, caller, timeoutNs));
    }

    private CompletableFuture<Response> fetch(RRef reference, Caller caller, long timeoutNs) {
        Duration timeout = timeoutNs == Request.DEFAULT_TIMEOUT ? null : Duration.ofNanos(timeoutNs);
        if (reference.type().equals(KeptObject.TYPE)) {
            ValueEncoder payload = new ValueEncoder().value(dict("reference", Value.of(reference)));
            Request request = Request.raw(
                    WorkerInfo.address(reference.owner()),
                    MessageType.PYTHON_RREF_FETCH_CALL,
                    ByteBuffer.wrap(payload.toBytes()),
                    List.of(),
                    payload.references());
            return caller.callAsync(timeout == null ? request : request.timeout(timeout));
        }
        return reference.toHereAsync(timeout == null ? Duration.ZERO : timeout);
    }

    /** Returns the owner of the value, and the known information about it. */
    Value info(Invocation call) throws RejectedMessageException {
        RRef reference = reference(call);
        Map<Value, Value> fields = new LinkedHashMap<>();
        fields.put(Value.of("owner"), Value.of(reference.owner()));
        fields.put(Value.of("is_owner"), Value.of(reference.isOwner()));
        fields.put(Value.of("confirmed"), Value.of(reference.confirmedByOwner()));
        fields.put(Value.of("type"), Value.of(reference.type()));
        return new Value.Dict(fields);
    }

    /** Returns a future that is completed when the owner has confirmed the reference. */
    CompletableFuture<Value> confirmation(Invocation call, long timeoutNs) throws RejectedMessageException {
        try {
            return holding(
                    reference(call),
                    held -> limited(held.confirmation(), timeoutNs).handle((none, failure) -> {
                        if (failure == null) {
                            return new Value.Dict(Map.of());
                        }
                        throw new CompletionException(ofCall(failure));
                    }));
        } catch (CallException e) {
            throw new CompletionException(ofCall(e));
        }
    }

    /** Returns the error of the call that should have created a value, if it is the cause of the reference's error. */
    private static Throwable ofCall(Throwable failure) {
        return failure instanceof CallException && failure.getCause() instanceof CallException cause ? cause : failure;
    }

    /** Returns PyTorch's counters. */
    Value debug() {
        Map<Value, Value> counters = new LinkedHashMap<>();
        broker.rpc().debugInfo().forEach((name, count) -> counters.put(Value.of(name), Value.of(count)));
        return new Value.Dict(counters);
    }

    /**
     * Uses a reference through a separate handle, because the process may drop its own meanwhile; fails for a failed
     * reference.
     */
    private static <T> CompletableFuture<T> holding(RRef reference, Function<RRef, CompletableFuture<T>> use) {
        RRef held = reference.retain();
        try {
            return use.apply(held).whenComplete((value, failure) -> held.close());
        } catch (RuntimeException e) {
            held.close();
            throw e;
        }
    }

    private static RRef reference(Invocation call) throws RejectedMessageException {
        if (call.named().get("reference") instanceof Value.OfRRef reference) {
            return reference.value();
        }
        throw new RejectedMessageException(
                ErrorCode.MALFORMED_BODY, call.name() + " takes reference, a remote reference");
    }

    private static Value dict(String name, Value value) {
        return new Value.Dict(Map.of(Value.of(name), value));
    }
}
