package io.waybill.worker.poll;

import java.util.concurrent.CancellationException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * A future that a thread waits for. An interrupt ends the wait.
 *
 * <p><b>Threads.</b> Belongs to the thread that waits.
 */
final class FutureWait implements WaitCondition {

    private final Future<?> future;
    private boolean isInterrupted;

    FutureWait(Future<?> future) {
        this.future = future;
    }

    @Override
    public boolean isMet() {
        return future.isDone() || isInterrupted || Thread.currentThread().isInterrupted();
    }

    @Override
    public void interrupted() {
        isInterrupted = true;
    }

    @Override
    public void park(long maxNs) {
        try {
            future.get(maxNs, TimeUnit.NANOSECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt(); // the thread that parks notes it
        } catch (TimeoutException | ExecutionException | CancellationException e) {
            // the waiting thread looks again, and its caller at the outcome
        }
    }

    /** Throws if the thread was interrupted before the future was done, and clears the interrupt then. */
    void surfaceInterrupt() throws InterruptedException {
        if (!future.isDone() && Thread.interrupted()) {
            throw new InterruptedException();
        }
    }
}
