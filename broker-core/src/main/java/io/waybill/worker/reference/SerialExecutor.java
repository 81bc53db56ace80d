package io.waybill.worker.reference;

import io.waybill.dispatch.ExecutorRefusedException;
import io.waybill.dispatch.HandlerExecutor;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Runs one thing after the other on the threads of an executor: what may wait for room in a journal, and must not hold up the thread that asks for
 * it.
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

    /** Puts an action behind those that wait. Dropped once the executor is closed; {@link #start} begins what could not be begun. */
    void run(Runnable action) {
        waiting.add(action);
        start();
    }

    /** Begins, when something waits that could not be begun: the executor had no room, or the host no thread. To be called now and then. */
    void start() {
        if (!waiting.isEmpty() && running.compareAndSet(false, true)) {
            boolean begun = false;
            try {
                executor.execute(this);
                begun = true;
            } catch (ExecutorRefusedException e) {
                if (e.reason() == ExecutorRefusedException.Reason.CLOSED) {
                    waiting.clear(); // the worker closes
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
        start(); // for what came since the last look
    }

    private static void runSafely(Runnable action) {
        try {
            action.run();
        } catch (Throwable e) { // the others must go on
            LOG.error("What keeps references in step failed", e);
        }
    }

    @Override
    public void abandoned() {
        waiting.clear();
        running.set(false);
    }
}
