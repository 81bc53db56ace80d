package io.waybill.broker;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.ErrorKind;
import io.waybill.api.MessageId;
import io.waybill.api.RRef;
import io.waybill.api.ResponseListener;
import io.waybill.api.context.CallContext;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.WeakHashMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;

/**
 * Calls of an owner that have no outcome yet, and its references. Once failed, it fails every added call at once.
 *
 * <p><b>Threads.</b> Thread-safe.
 */
final class InFlightCalls {

    private final Map<CompletableFuture<?>, CallContext> futures =
            new ConcurrentHashMap<>(); // values: the contexts of their calls
    private final Set<LeasedListener> listeners = ConcurrentHashMap.newKeySet();
    private final Map<RRef, Boolean> references = new WeakHashMap<>(); // guarded by itself
    private final Runnable failed;
    private volatile String revoked = ""; // reason; set before the added calls are failed

    /**
     * Creates an object without calls.
     *
     * @param failed called for each listener that throws
     */
    InFlightCalls(Runnable failed) {
        this.failed = failed;
    }

    /** Fails with {@link ErrorCode#CLOSED} unless the reason is empty. */
    static void requireNotRevoked(String why) {
        if (!why.isEmpty()) {
            throw closed(why);
        }
    }

    private static CallException closed(String why) {
        return new CallException(ErrorKind.UNKNOWN_ERROR, ErrorCode.CLOSED, MessageId.NONE, why);
    }

    /** Makes a call and adds it. Its failures complete the future, also failures before anything was sent. */
    <T> CompletableFuture<T> async(Supplier<CompletableFuture<T>> call) {
        try {
            return add(call.get());
        } catch (CallException e) {
            return CompletableFuture.failedFuture(e);
        }
    }

    <T> CompletableFuture<T> add(CompletableFuture<T> future) {
        if (!future.isDone()) {
            futures.put(future, CallContext.current());
            future.whenComplete((result, failure) -> futures.remove(future));
            if (!revoked.isEmpty()) {
                future.completeExceptionally(closed(revoked));
            }
        }
        return future;
    }

    LeasedListener lease(ResponseListener listener) {
        LeasedListener leased = new LeasedListener(Objects.requireNonNull(listener), listeners::remove, failed);
        listeners.add(leased);
        if (!revoked.isEmpty()) {
            leased.take();
            throw closed(revoked);
        }
        return leased;
    }

    RRef add(RRef reference) {
        synchronized (references) {
            references.put(reference, true);
        }
        if (!revoked.isEmpty()) {
            reference.close();
            throw closed(revoked);
        }
        return reference;
    }

    /** Fails all calls, on the owner's threads because its code runs then, and closes the references. */
    void fail(String why, OwnerThreads threads, Duration limit) {
        revoked = why;
        Map<CompletableFuture<?>, CallContext> waiting = new HashMap<>(futures);
        List<LeasedListener> notified = new ArrayList<>(listeners);
        if (!waiting.isEmpty() || !notified.isEmpty()) {
            CompletableFuture<Void> done = new CompletableFuture<>();
            boolean runs = threads.run(() -> {
                waiting.forEach((future, context) -> threads.call(
                        "stage of a future", future, context, () -> future.completeExceptionally(closed(why))));
                notified.forEach(leased -> failListener(leased, why, threads));
                done.complete(null);
            });
            if (runs) {
                await(done, threads, limit);
            }
            notified.forEach(LeasedListener::take); // listeners that are stuck or had no thread
        }
        futures.clear();
        List<RRef> open;
        synchronized (references) {
            open = new ArrayList<>(references.keySet());
            references.clear();
        }
        open.forEach(RRef::close);
    }

    private static void failListener(LeasedListener leased, String why, OwnerThreads threads) {
        ResponseListener listener = leased.take();
        if (listener != null) {
            threads.call(
                    "ResponseListener.onFailure", listener, leased.context(), () -> listener.onFailure(closed(why)));
        }
    }

    private static void await(CompletableFuture<Void> done, OwnerThreads threads, Duration limit) {
        try {
            if (!threads.await(done, limit)) {
                return; // a stage or a listener does not return: its thread ends with the others
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
