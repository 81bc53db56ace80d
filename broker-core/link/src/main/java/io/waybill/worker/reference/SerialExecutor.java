package io.waybill.worker.reference;

import io.waybill.dispatch.ExecutorRefusedException;
import io.waybill.dispatch.HandlerExecutor;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Runs actions one after the other on the threads of an executor: for actions that may wait for room in a journal, and
 * must not block the submitting thread.
 *
 * <p><b>Threads.</b> Thread-safe.
 */
final class SerialExecutor implements HandlerExecutor.Abandonable {

    private static final Logger LOG = LoggerFactory.getLogger(SerialExecutor.class);

    private final HandlerExecutor executor;
    private final Queue<Runnable> waiting = new ConcurrentLinkedQueue<>();
    private final AtomicBoolean running = new AtomicBoolean();

    SerialExecutor(HandlerExecutor executor) {
        this.executor = executor;
    }

    /**
     * Adds an action to the queue. Dropped once the executor is closed; {@link #start} retries an action that could not
     * be begun.
     */
    void run(Runnable action) {
        waiting.add(action);
        start();
    }

    /**
     * Starts waiting actions that could not be begun, because the executor had no room or the host no thread. Call
     * regularly.
     */
    void start() {
        if (!waiting.isEmpty() && running.compareAndSet(false, true)) {
            boolean begun = false;
            try {
                executor.execute(this);
                begun = true;
            } catch (ExecutorRefusedException e) {
                if (e.reason() == ExecutorRefusedException.Reason.CLOSED) {
                    waiting.clear(); // the worker is closing
                }
            } finally {
                if (!begun) {
                    running.set(false);
                }
            }
        }
    }

    @Override
    public void run() {
        try {
            for (Runnable action = waiting.poll(); action != null; action = waiting.poll()) {
                runSafely(action);
            }
        } finally {
            running.set(false);
        }
        start(); // for actions added since the last check
    }

    private static void runSafely(Runnable action) {
        try {
            action.run();
        } catch (Throwable e) { // the other actions must run
            LOG.error("What keeps references in step failed", e);
        }
    }

    @Override
    public void abandoned() {
        waiting.clear();
        running.set(false);
    }
}
