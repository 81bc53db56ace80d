package io.waybill.profiler;

import io.waybill.profiler.profile.ProfileEvent.Outcome;
import io.waybill.profiler.record.Recordings;
import io.waybill.profiler.record.Recordings.Entered;
import io.waybill.profiler.record.Recordings.OpenEvent;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;

/** A scope of code. */
final class OpenScope implements ProfileScope {

    private final OpenEvent event; // null if the scope is not recorded
    private final Entered entered; // null if the scope is not recorded
    private final AtomicBoolean endsWithFuture = new AtomicBoolean();

    OpenScope(Recordings recordings, OpenEvent event) {
        this.event = event;
        this.entered = event == null ? null : recordings.enter(event);
    }

    @Override
    public <T> CompletableFuture<T> endWith(CompletableFuture<T> future) {
        if (!endsWithFuture.compareAndSet(false, true)) {
            throw new IllegalStateException("_call_end_callbacks_on_future can only be called once.");
        }
        return future.whenComplete((result, failure) -> end(failure == null ? Outcome.DONE : Outcome.FAILED));
    }

    @Override
    public void close() {
        if (entered != null) {
            entered.leave();
        }
        if (!endsWithFuture.get()) {
            end(Outcome.DONE);
        }
    }

    private void end(Outcome outcome) {
        if (event != null) {
            event.end(outcome, List.of());
        }
    }
}
