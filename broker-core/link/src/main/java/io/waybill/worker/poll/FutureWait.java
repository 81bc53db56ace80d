package io.waybill.worker.poll;

import io.waybill.host.Threads;
import java.util.concurrent.Future;

/**
 * A future that a thread waits for. An interrupt ends the wait.
 *
 * <p><b>Threads.</b> Belongs to the thread that waits.
 */
final class FutureWait implements WaitCondition {

    private final Future<?> future;
    private final Threads threads;
    private boolean isInterrupted;

    FutureWait(Future<?> future, Threads threads) {
        this.future = future;
        this.threads = threads;
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
            threads.await(future, maxNs); // the waiting thread checks the future again, and its caller the outcome
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt(); // the thread that parks handles it
        }
    }

    /** Throws if the thread was interrupted before the future was done, and clears the interrupt then. */
    void surfaceInterrupt() throws InterruptedException {
        if (!future.isDone() && Thread.interrupted()) {
            throw new InterruptedException();
        }
    }
}
