package io.waybill.worker.reference;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.MessageId;
import io.waybill.api.RRef;
import io.waybill.api.Response;
import io.waybill.api.context.CallContext;
import io.waybill.api.context.ContextScope;
import io.waybill.api.context.ThreadContext;
import io.waybill.rref.OwnedValue;
import io.waybill.rref.OwnerReference;
import io.waybill.rref.RRefErrors;
import io.waybill.rref.Reference;
import io.waybill.rref.UserReference;
import io.waybill.rref.ValueWaiter;
import io.waybill.rref.id.ForkData;
import io.waybill.rref.status.Holder;
import io.waybill.worker.peer.CallErrors;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.UnaryOperator;

/**
 * Handle of a reference. A program's handle is counted in the reference; a handle among the arguments of a request
 * leases the request's handle.
 *
 * <p><b>Threads.</b> Thread-safe.
 */
public final class ReferenceHandle implements RRef {

    /** Owner of a handle. */
    public enum Holding {
        /** The program: {@link #close} ends the handle. */
        OWN,
        /** A value: the handle ends with the value that contains it. */
        IN_VALUE,
        /** A request: the handle ends with it. */
        LEASED
    }

    private final WorkerReferences home;
    private final Reference reference;
    private final Holding holding;
    private final AtomicBoolean closed = new AtomicBoolean();

    public ReferenceHandle(WorkerReferences home, Reference reference, Holding holding) {
        this.home = home;
        this.reference = reference;
        this.holding = holding;
    }

    ForkData fork(Holder to) {
        requireOpen(RRefErrors.FORK);
        return home.references().forks().fork(reference, to);
    }

    void abandon(ForkData fork) {
        home.references().forks().abandon(fork);
    }

    private void requireOpen(String operation) {
        if (closed.get()) {
            throw RRefErrors.deleted(reference, operation);
        }
        home.references().requireUsable(reference, operation);
    }

    @Override
    public Response toHere(Duration timeout) {
        requireOpen("to_here()");
        home.calls().requireMayBlock();
        if (reference instanceof UserReference user) {
            return home.fetch(user, timeout);
        }
        return await(read(), timeout);
    }

    @Override
    public Response toHere() {
        return toHere(home.defaultTimeout());
    }

    @Override
    public CompletableFuture<Response> toHereAsync(Duration timeout) {
        try {
            requireOpen("to_here()");
        } catch (CallException e) {
            return CompletableFuture.failedFuture(e);
        }
        return reference instanceof UserReference user ? home.fetchAsync(user, timeout) : read();
    }

    @Override
    public Response localValue() {
        requireOwner("localValue()");
        requireOpen("local_value()");
        home.calls().requireMayBlock();
        return await(read(), Duration.ZERO);
    }

    private void requireOwner(String operation) {
        if (!isOwner()) {
            throw new IllegalStateException("For " + RRefErrors.written(reference) + ", can't call " + operation
                    + " on user " + home.info() + ". Call it on owner " + home.describe(owner()));
        }
    }

    @Override
    public void keep() {
        requireOwner("keep()");
        requireOpen("keep()");
        home.calls().requireMayBlock();
        home.references().retain(reference); // prevents that the value is closed while it is written
        try {
            StoredValue value = await(read(Function.identity(), stored -> {}), Duration.ZERO);
            value.keep(reference.id(), type(), home.keeper());
        } finally {
            home.references().release(reference);
        }
    }

    private CompletableFuture<Response> read() {
        return read(value -> new LocalValue(owner(), value, home.receiver()), Response::close);
    }

    /**
     * Reads the value once it has been created.
     *
     * @param untaken releases the object taken from the value when no caller waits any more
     */
    private <T> CompletableFuture<T> read(Function<StoredValue, T> take, Consumer<T> untaken) {
        CompletableFuture<T> notified = new CompletableFuture<>();
        CallContext context = CallContext.current(); // of the reader, for the stages of its future
        home.references().read((OwnerReference) reference, new ValueWaiter() {
            @Override
            public void onValue(OwnedValue value) {
                ThreadContext thread = ThreadContext.own();
                ContextScope before = thread.enter(context);
                try {
                    T taken = take.apply((StoredValue) value);
                    if (!notified.complete(taken)) {
                        untaken.accept(taken);
                    }
                } catch (CallException e) { // a reference that the value contains has failed
                    notified.completeExceptionally(e);
                } finally {
                    thread.leave(before);
                }
            }

            @Override
            public void onFailure(CallException failure) {
                ThreadContext thread = ThreadContext.own();
                ContextScope before = thread.enter(context);
                notified.completeExceptionally(failure); // does not throw
                thread.leave(before);
            }
        });
        return notified;
    }

    private <T> T await(CompletableFuture<T> value, Duration timeout) {
        long timeoutNs = home.calls().boundedHere(timeout.toNanos());
        try {
            if (!home.calls().await(value, timeoutNs == 0 ? Long.MAX_VALUE : timeoutNs)) {
                value.cancel(false);
                throw CallErrors.timedOut(MessageId.NONE, timeoutNs, "itself for " + reference);
            }
            return value.get();
        } catch (ExecutionException e) {
            if (e.getCause() instanceof CallException failure) {
                throw failure;
            }
            throw new IllegalStateException(e.getCause());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            value.cancel(false);
            throw CallErrors.refused(ErrorCode.CLOSED, "interrupted while waiting for the value of " + reference);
        }
    }

    @Override
    public int owner() {
        return reference.owner();
    }

    @Override
    public boolean isOwner() {
        return reference.isOwner();
    }

    @Override
    public boolean confirmedByOwner() {
        return home.references().confirmedByOwner(reference);
    }

    @Override
    public CompletableFuture<Void> confirmation() {
        try {
            requireOpen("confirmation()");
        } catch (CallException e) {
            return CompletableFuture.failedFuture(e);
        }
        if (!(reference instanceof UserReference user)) {
            return this.<Void>read(value -> null, none -> {}).exceptionally(failure -> {
                home.references().requireUsable(reference, "confirmation()"); // usable with an error of its handler
                return null;
            });
        }
        CompletableFuture<Void> notified = new CompletableFuture<>();
        CallContext context = CallContext.current(); // of the reader, for the stages of its future
        home.references().whenCompleted(user, failure -> {
            ThreadContext thread = ThreadContext.own();
            ContextScope before = thread.enter(context);
            failure.ifPresentOrElse(notified::completeExceptionally, () -> notified.complete(null));
            thread.leave(before);
        });
        return notified;
    }

    @Override
    public String type() {
        return reference.type();
    }

    /** Takes a handle of each reference; all or none. */
    public static List<ReferenceHandle> all(List<? extends RRef> references, UnaryOperator<ReferenceHandle> taking) {
        List<ReferenceHandle> taken = new ArrayList<>(references.size());
        try {
            for (RRef reference : references) {
                taken.add(taking.apply(own(reference)));
            }
            return List.copyOf(taken);
        } catch (RuntimeException e) {
            taken.forEach(ReferenceHandle::close);
            throw e;
        }
    }

    static ReferenceHandle own(RRef reference) {
        if (reference instanceof ReferenceHandle held) {
            return held;
        }
        throw CallErrors.refused(
                ErrorCode.REFUSED, "a reference that travels must be one of this worker's: " + reference);
    }

    /** Returns a leased handle, which is not counted. */
    ReferenceHandle leased() {
        return new ReferenceHandle(home, reference, Holding.LEASED);
    }

    @Override
    public ReferenceHandle retain() {
        requireOpen("retain()");
        home.references().retain(reference);
        return new ReferenceHandle(home, reference, Holding.OWN);
    }

    /** Returns one more handle, owned by a value of this worker. */
    ReferenceHandle retainInValue() {
        requireOpen("retain()");
        home.references().retainInValue(reference);
        return new ReferenceHandle(home, reference, Holding.IN_VALUE);
    }

    @Override
    public void close() {
        if (holding == Holding.LEASED || !closed.compareAndSet(false, true)) {
            return;
        }
        if (holding == Holding.OWN) {
            home.references().release(reference);
        } else {
            home.references().releaseFromValue(reference);
        }
    }

    @Override
    public String toString() {
        return reference.toString();
    }
}
