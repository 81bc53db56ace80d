package io.waybill.replay.run;

import io.waybill.api.CallException;
import io.waybill.api.RRef;
import io.waybill.api.Response;
import io.waybill.rref.id.ForkData;
import io.waybill.rref.id.RRefId;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/**
 * Remote reference in a replay: to the replayed worker's own value, or to one of another worker, which is fetched from
 * the record. Handles are not counted: the values stay until the replay ends.
 *
 * <p><b>Threads.</b> Thread-safe.
 */
record ReplayedReference(
        ReplayCandidate candidate, RRefId id, int owner, int ownerEpoch, String type, Optional<CallException> failure)
        implements RRef {

    /**
     * Creates a reference.
     *
     * @param failure why the value was not created; empty if it may have been
     */
    ReplayedReference(ReplayCandidate candidate, ForkData recorded, Optional<CallException> failure) {
        this(candidate, recorded.rref(), recorded.owner(), recorded.ownerEpoch(), recorded.type(), failure);
    }

    /** Creates a reference to a value that the worker created by itself. */
    ReplayedReference(ReplayCandidate candidate, RRefId id, String type) {
        this(candidate, id, candidate.worker().id(), 1, type, Optional.empty());
    }

    @Override
    public Response toHere(Duration timeout) {
        if (failure.isPresent()) {
            throw failure.get();
        }
        return isOwner() ? candidate.read(id) : candidate.fetch(this, timeout);
    }

    @Override
    public Response toHere() {
        return toHere(Duration.ZERO);
    }

    @Override
    public CompletableFuture<Response> toHereAsync(Duration timeout) {
        try {
            return CompletableFuture.completedFuture(toHere(timeout));
        } catch (CallException e) {
            return CompletableFuture.failedFuture(e);
        }
    }

    @Override
    public Response localValue() {
        requireOwner("localValue()");
        return toHere();
    }

    @Override
    public void keep() {
        requireOwner("keep()");
        candidate.read(id).close(); // waits for the value, like a worker; a replay writes nothing
    }

    private void requireOwner(String operation) {
        if (!isOwner()) {
            throw new IllegalStateException("For " + this + ", can't call " + operation + " on user "
                    + candidate.worker() + ". Call it on owner " + owner);
        }
    }

    @Override
    public boolean isOwner() {
        return owner == candidate.worker().id();
    }

    @Override
    public boolean confirmedByOwner() {
        return true;
    }

    @Override
    public CompletableFuture<Void> confirmation() {
        return failure.<CompletableFuture<Void>>map(CompletableFuture::failedFuture)
                .orElseGet(() -> CompletableFuture.completedFuture(null));
    }

    @Override
    public RRef retain() {
        return this;
    }

    @Override
    public void close() {
        // the replay closes it
    }

    /** Compares identity: each handle is different, as in a worker. */
    @Override
    public boolean equals(Object other) {
        return this == other;
    }

    @Override
    public int hashCode() {
        return System.identityHashCode(this);
    }

    @Override
    public String toString() {
        return "RRef(" + id + ")";
    }
}
