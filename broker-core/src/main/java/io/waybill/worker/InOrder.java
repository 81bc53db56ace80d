package io.waybill.worker;

import io.waybill.dispatch.ExecutorRefusedException;
import io.waybill.dispatch.HandlerExecutor;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Runs one thing after the other on the threads of an executor: what may wait for room in a journal, and must not hold up whoever asks for
 * it.
 *
 * <p><b>Threads.</b> Thread-safe.
 */
final class InOrder implements HandlerExecutor.Abandonable {

    private static final Logger LOG = LoggerFactory.getLogger(InOrder.class);

    private final HandlerExecutor executor;
    private final Queue<Runnable> waiting = new ConcurrentLinkedQueue<>();
    private final AtomicBoolean running = new AtomicBoolean();

    InOrder(HandlerExecutor executor) {
        this.executor = executor;
    }

    /** Puts an action behind those that wait. Dropped once the executor is closed. */
    void run(Runnable action) {
        waiting.add(action);
        start();
    }

    private void start() {
        if (!waiting.isEmpty() && running.compareAndSet(false, true)) {
            try {
                executor.execute(this);
            } catch (ExecutorRefusedException e) {
                waiting.clear(); // the worker closes
                running.set(false);
            }
        }
    }

    @Override
    public void run() {
        for (Runnable action = waiting.poll(); action != null; action = waiting.poll()) {
            try {
                action.run();
            } catch (RuntimeException e) { // the others must go on
                LOG.error("What keeps references in step failed", e);
            }
        }
        running.set(false);
        start(); // for what came since the last look
    }

    @Override
    public void abandoned() {
        waiting.clear();
    }
}
