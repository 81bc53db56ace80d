package io.waybill.worker;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.MessageId;
import io.waybill.api.RRef;
import io.waybill.api.Response;
import io.waybill.rref.ForkData;
import io.waybill.rref.Holder;
import io.waybill.rref.OwnedValue;
import io.waybill.rref.OwnerReference;
import io.waybill.rref.RRefErrors;
import io.waybill.rref.Reference;
import io.waybill.rref.UserReference;
import io.waybill.rref.ValueWaiter;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import java.util.function.Function;

/**
 * A handle of a reference. One that a program has counts as a handle of the reference's; one among the arguments of a request borrows the
 * request's.
 *
 * <p><b>Threads.</b> Thread-safe.
 */
final class HeldReference implements RRef {

    /** Who ends a handle. */
    enum Holding {
        /** {@link #close} does. */
        OWN,
        /** The end of the request does. */
        BORROWED
    }

    private final WorkerReferences home;
    private final Reference reference;
    private final Holding holding;
    private final AtomicBoolean closed = new AtomicBoolean();

    HeldReference(WorkerReferences home, Reference reference, Holding holding) {
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
        requireOpen("to_here()");
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
        home.references().retain(reference); // so that the value is not closed while it is written
        try {
            StoredValue value = await(read(Function.identity(), stored -> {}), Duration.ZERO);
            value.keep(reference.id(), type(), home.keeper());
        } finally {
            home.references().release(reference);
        }
    }

    private CompletableFuture<Response> read() {
        return read(value -> new LocalValue(owner(), value), Response::close);
    }

    /** @param untaken what to do with what was taken of the value when nobody waits any more */
    private <T> CompletableFuture<T> read(Function<StoredValue, T> take, Consumer<T> untaken) {
        CompletableFuture<T> told = new CompletableFuture<>();
        home.references().read((OwnerReference) reference, new ValueWaiter() {
            @Override
            public void onValue(OwnedValue value) {
                T taken = take.apply((StoredValue) value);
                if (!told.complete(taken)) {
                    untaken.accept(taken);
                }
            }

            @Override
            public void onFailure(CallException failure) {
                told.completeExceptionally(failure);
            }
        });
        return told;
    }

    private <T> T await(CompletableFuture<T> value, Duration timeout) {
        try {
            return timeout.isZero() ? value.get() : value.get(timeout.toNanos(), TimeUnit.NANOSECONDS);
        } catch (ExecutionException e) {
            if (e.getCause() instanceof CallException failure) {
                throw failure;
            }
            throw new IllegalStateException(e.getCause());
        } catch (TimeoutException e) {
            value.cancel(false);
            throw CallErrors.timedOut(MessageId.NONE, timeout.toNanos(), "itself for " + reference);
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
    public String type() {
        return reference.type();
    }

    @Override
    public RRef retain() {
        requireOpen("retain()");
        home.references().retain(reference);
        return new HeldReference(home, reference, Holding.OWN);
    }

    @Override
    public void close() {
        if (holding == Holding.OWN && closed.compareAndSet(false, true)) {
            home.references().release(reference);
        }
    }

    @Override
    public String toString() {
        return reference.toString();
    }
}
