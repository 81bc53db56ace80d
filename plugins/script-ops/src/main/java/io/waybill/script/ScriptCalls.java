package io.waybill.script;

import io.waybill.api.CallException;
import io.waybill.api.Invocation;
import io.waybill.api.MessageId;
import io.waybill.api.RRef;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Response;
import io.waybill.api.Rpc;
import io.waybill.api.Value;
import io.waybill.script.context.RecordedScopes;
import io.waybill.script.context.ScriptGradients;
import io.waybill.script.source.ElementTypes;
import io.waybill.script.source.Intrinsic;
import io.waybill.torch.LeasedTensors;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.Supplier;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.CompilationUnit;
import org.bytedeco.pytorch.Function;
import org.bytedeco.pytorch.Future;
import org.bytedeco.pytorch.IValue;
import org.bytedeco.pytorch.IValueVector;
import org.bytedeco.pytorch.QualifiedNameOptional;
import org.bytedeco.pytorch.Tuple;
import org.bytedeco.pytorch.global.torch;

/**
 * Calls of one run of a function to other workers, on behalf of the function's request. In libtorch, an asynchronous
 * call and a reference are incomplete futures: the function's wait calls this class first, which completes them.
 *
 * <p><b>Threads.</b> The one that runs the function. <b>Ownership.</b> Holds the responses, whose tensors the function
 * computes with, and the handles of the references that it created, until it is closed, after the response. An
 * asynchronous call without a wait continues.
 */
final class ScriptCalls implements AutoCloseable {

    private static final ThreadLocal<ScriptCalls> CURRENT = new ThreadLocal<>();

    private static final double NANOS = 1e9;
    /** PyTorch's value for the default timeout. */
    private static final double DEFAULT_TIMEOUT = -1;
    /** Timeout above which there is no limit. */
    private static final double MAX_SECONDS = 1e9;

    /** Content of a future of the function: a pending response, or a reference. */
    private record Pending(ParameterType type, String what, CompletableFuture<Response> response, RRef reference) {}

    private final Supplier<Rpc> rpc;
    private final Map<Long, Pending> futures = new HashMap<>();
    private final List<Response> responses = new ArrayList<>();
    private final List<RRef> made = new ArrayList<>();
    private final RecordedScopes scopes = new RecordedScopes();
    private LeasedTensors tensors;
    private ScriptGradients gradients;
    private ScriptCalls outer;
    /** Timeout of the next fetch in seconds, -1 for the default. */
    private double nextTimeout = DEFAULT_TIMEOUT;

    private boolean isNextLocal;

    /**
     * Creates the calls of a run.
     *
     * @param rpc evaluated at the function's first call
     */
    ScriptCalls(Supplier<Rpc> rpc) {
        this.rpc = rpc;
    }

    /** Returns the calls of a function without a request. */
    static ScriptCalls none() {
        return new ScriptCalls(() -> {
            throw new IllegalStateException("this function was not called by a message, and can call no worker");
        });
    }

    /** Returns the calls of the function that this thread runs; null if it runs none. */
    static ScriptCalls current() {
        return CURRENT.get();
    }

    /** Marks the start of the function on this thread. */
    void begin(LeasedTensors ofCall, ScriptGradients ofEngine) {
        tensors = ofCall;
        gradients = ofEngine;
        outer = CURRENT.get();
        CURRENT.set(this);
    }

    /** Ends the scopes of the profiler that a function left open. */
    void endScopes() {
        scopes.endAll();
    }

    /** Ends the run. Idempotent. */
    void end() {
        if (CURRENT.get() == this) {
            CURRENT.set(outer);
        }
    }

    /** Sends a call, and returns its result, or the future that represents it. */
    IValue call(RpcSite site, String to, IValue args, IValue kwargs, double timeout) throws RejectedMessageException {
        Results given = new Results(tensors, this);
        try {
            Invocation call = invocation(site, given, args, kwargs);
            boolean isDefault = timeout == DEFAULT_TIMEOUT;
            Duration limit = isDefault ? null : limit(timeout);
            switch (site.way()) {
                case RPC_SYNC:
                    Response response =
                            isDefault ? rpc.get().rpcSync(to, call) : rpc.get().rpcSync(to, call, limit);
                    return result(site.result(), site.function(), response);
                case RPC_ASYNC:
                    CompletableFuture<Response> arriving =
                            isDefault ? rpc.get().rpcAsync(to, call) : rpc.get().rpcAsync(to, call, limit);
                    requireSent(arriving);
                    return future(new Pending(site.result(), site.function(), arriving, null));
                case REMOTE:
                    RRef reference =
                            isDefault ? rpc.get().remote(to, call) : rpc.get().remote(to, call, limit);
                    made.add(reference);
                    return future(new Pending(site.result(), site.function(), null, reference));
            }
            throw new AssertionError(site.way());
        } finally {
            given.release(); // the sender copies first
        }
    }

    /** Throws if a call could not be sent, like PyTorch, because its future may never be waited for. */
    private static void requireSent(CompletableFuture<Response> call) {
        if (call.isCompletedExceptionally()) {
            try {
                call.join();
            } catch (CompletionException e) {
                if (e.getCause() instanceof CallException failed && failed.messageId() == MessageId.NONE) {
                    throw failed;
                }
            }
        }
    }

    /** @param seconds timeout; 0 for none */
    private static Duration limit(double seconds) {
        if (Double.isNaN(seconds) || seconds < 0) {
            throw new IllegalArgumentException(
                    "a timeout is seconds, 0 for none, -1 for the default, and this is " + seconds);
        }
        if (seconds == 0 || seconds > MAX_SECONDS) {
            return Duration.ZERO;
        }
        return Duration.ofNanos(Math.max(1, (long) (seconds * NANOS)));
    }

    /** Runs the intrinsic of a bridge, with its arguments on the stack. */
    IValue run(Intrinsic intrinsic, IValueVector stack, long first) throws RejectedMessageException {
        return switch (intrinsic) {
            case IS_OWNER -> new IValue(required(stack.get(first)).isOwner());
            case CONFIRMED_BY_OWNER -> new IValue(required(stack.get(first)).confirmedByOwner());
            case TO_HERE_WITHIN -> {
                nextTimeout = stack.get(first).toDouble();
                yield new IValue(true);
            }
            case LOCAL_VALUE -> {
                isNextLocal = true;
                yield new IValue(true);
            }
            case RECORD_FUNCTION -> {
                scopes.begin(stack.get(first));
                yield new IValue(true);
            }
            case RECORD_FUNCTION_EXIT -> {
                scopes.end();
                yield new IValue(true);
            }
            case GET_GRADIENTS -> gradients(stack.get(first).toInt());
            case BACKWARD -> {
                gradients.backward(
                        stack.get(first).toInt(),
                        stack.get(first + 1).toList(),
                        stack.get(first + 2).toBool());
                yield new IValue();
            }
        };
    }

    private IValue gradients(long context) {
        List<IValue> leaves = new ArrayList<>();
        List<IValue> values = new ArrayList<>();
        gradients.visit(context, (leaf, gradient) -> {
            leaves.add(new IValue(leaf));
            values.add(new IValue(gradient));
        });
        return Dicts.of("Tensor", GivenType.pointer("Tensor"), leaves, values);
    }

    private static void requireOwner(RRef reference) {
        if (!reference.isOwner()) {
            throw new IllegalStateException(
                    "Can't call RRef.local_value() on a non-owner RRef: the value is with worker " + reference.owner()
                            + "; to_here() fetches it");
        }
    }

    private RRef required(IValue value) {
        RRef reference = value.isFuture() ? reference(value.toFuture()) : null;
        if (reference == null) {
            throw new IllegalArgumentException(
                    "a reference is expected, and this is " + value.tagKind().getString());
        }
        return reference;
    }

    private static Invocation invocation(RpcSite site, Results given, IValue args, IValue kwargs)
            throws RejectedMessageException {
        IValueVector both = new IValueVector();
        both.push_back(args);
        both.push_back(kwargs);
        List<Value> values = ((Value.Tuple) given.take(new IValue(Tuple.create(both)), ElementTypes.NONE)).values();
        List<Value> positional = values.get(0) instanceof Value.None ? List.of() : ScriptValues.elements(values.get(0));
        if (positional == null) {
            throw new IllegalArgumentException("args of a call to " + site.function() + " is a tuple, and not "
                    + ScriptValues.describe(values.get(0)));
        }
        Map<String, Value> named = new LinkedHashMap<>();
        if (values.get(1) instanceof Value.Dict dict) {
            dict.entries().forEach((key, value) -> named.put(((Value.Text) key).value(), value));
        }
        return new Invocation(site.function(), positional, named);
    }

    private IValue result(ParameterType type, String what, Response response) throws RejectedMessageException {
        responses.add(response);
        Value value = response.value();
        if (type.fit(value) == ParameterType.NO_FIT) {
            throw new IllegalStateException(what + " is declared here to give " + type + ", and worker "
                    + response.from() + " responded with " + ScriptValues.describe(value));
        }
        return new CallStack(tensors, this).convert(type, value);
    }

    private IValue future(Pending pending) {
        Future future = Seed.FUTURE.createInstance(GivenType.pointer(GivenType.ANY)); // freed with the scope of the run
        futures.put(future.address(), pending);
        return new IValue(future);
    }

    /** Converts a reference among the arguments, or in a result, for the function. */
    IValue reference(ParameterType type, RRef reference) {
        return future(new Pending(type.element(), "a reference", null, reference));
    }

    /** Returns the reference that a future represents; null if it represents none. */
    RRef reference(Future future) {
        Pending pending = futures.get(future.address());
        return pending == null ? null : pending.reference;
    }

    /** Waits until a future of these calls is complete; ignores any other future. */
    void complete(Future future) throws RejectedMessageException {
        double timeout = nextTimeout;
        boolean isLocal = isNextLocal;
        nextTimeout = DEFAULT_TIMEOUT;
        isNextLocal = false;
        Pending pending = futures.get(future.address());
        if (isLocal) {
            requireOwner(required(new IValue(future)));
        }
        if (pending != null && !future.completed()) {
            future.markCompleted(result(pending.type, pending.what, awaited(pending, timeout, isLocal)));
        }
    }

    private static Response awaited(Pending pending, double timeout, boolean isLocal) {
        if (isLocal) {
            return pending.reference.localValue();
        } else if (pending.reference != null) {
            return timeout == DEFAULT_TIMEOUT ? pending.reference.toHere() : pending.reference.toHere(limit(timeout));
        }
        try {
            return pending.response.join();
        } catch (CompletionException e) {
            if (e.getCause() instanceof RuntimeException cause) {
                throw cause;
            }
            throw e;
        }
    }

    @Override
    public void close() {
        responses.forEach(Response::close);
        made.forEach(RRef::close);
        for (Pending pending : futures.values()) {
            if (pending.response != null) {
                pending.response.whenComplete((response, error) -> {
                    if (response != null) {
                        response.close();
                    }
                });
            }
        }
    }

    /** First future, from which others are created, since Java can't construct them. */
    private static final class Seed {

        static final Future FUTURE = first();

        @SuppressWarnings("try")
        private static Future first() {
            try (PointerScope scope = new PointerScope()) {
                CompilationUnit unit = new CompilationUnit();
                Function one = unit.define(
                                new QualifiedNameOptional(),
                                "def one() -> int:\n    return 1\n",
                                torch.nativeResolver(),
                                null)
                        .get(0);
                Future future = one.runAsync(new IValueVector());
                future.waitAndThrow();
                future.retainReference();
                return future;
            }
        }
    }
}
