package io.waybill.broker;

import io.waybill.api.context.CallContext;
import io.waybill.api.context.ContextScope;
import io.waybill.api.context.ThreadContext;
import io.waybill.dispatch.ExecutorRefusedException;
import io.waybill.dispatch.ExecutorSettings;
import io.waybill.dispatch.HandlerExecutor;
import io.waybill.dispatch.PolledTasks;
import io.waybill.dispatch.Provider;
import io.waybill.host.Clock;
import io.waybill.host.Host;
import io.waybill.host.Threads;
import io.waybill.host.failure.ForeignErrors;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Future;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Threads on which callbacks of one owner run: none while there is nothing to run, and at most {@value #MAX_CALLBACKS}.
 * The one boundary between the worker and those callbacks.
 *
 * <p><b>Threads.</b> Thread-safe. <b>Errors.</b> Any exception of a callback is logged and counted. A callback that
 * does not return is logged with its current line.
 */
final class OwnerThreads {

    static final int MAX_CALLBACKS = 64;

    private static final Logger LOG = LoggerFactory.getLogger(OwnerThreads.class);
    private static final long STUCK_NS = 10_000_000_000L;

    private final Provider owner;
    private final Clock clock;
    private final Threads threads;
    private final Runnable failed;
    private final HandlerExecutor executor;
    private final Set<Callback> running = ConcurrentHashMap.newKeySet();

    /**
     * Creates an object without threads.
     *
     * @param failed called for each callback that threw or does not return
     */
    OwnerThreads(Provider owner, Host host, Runnable failed) {
        this.owner = owner;
        this.clock = host.clock();
        this.threads = host.threads();
        this.failed = failed;
        ExecutorSettings settings = new ExecutorSettings(
                1, MAX_CALLBACKS, ExecutorSettings.GROW_DELAY_NS_DEFAULT, 0, ExecutorSettings.KEEP_ALIVE_DEFAULT);
        this.executor = new HandlerExecutor(
                owner.name() + "-broker", settings, host.threads(), host.clock(), PolledTasks.Source.PLAIN);
    }

    /** Waits until a future is done, up to a limit. Returns whether it is done. */
    boolean await(Future<?> future, Duration limit) throws InterruptedException {
        return threads.await(future, limit.toNanos());
    }

    /**
     * Runs a task of the worker's that calls the owner through {@link #call}. Returns whether there is a thread for it.
     */
    boolean run(Runnable task) {
        try {
            executor.execute(task);
            return true;
        } catch (ExecutorRefusedException e) { // full or closed, which the caller knows
            return false;
        }
    }

    /**
     * Calls the owner, on this thread.
     *
     * @param of the object that is called, whose class loader is the thread's during the call
     */
    void call(String what, Object of, Runnable callback) {
        call(what, of, CallContext.EMPTY, callback);
    }

    /**
     * Calls the owner, on this thread.
     *
     * @param of the object that is called, whose class loader is the thread's during the call
     * @param context context that is current during the call
     */
    void call(String what, Object of, CallContext context, Runnable callback) {
        ThreadContext current = ThreadContext.own();
        ContextScope outside = current.enter(context);
        Thread thread = Thread.currentThread();
        ClassLoader before = thread.getContextClassLoader();
        Callback call = new Callback(what, thread, clock.monotonicNs());
        running.add(call);
        try {
            thread.setContextClassLoader(of.getClass().getClassLoader());
            callback.run();
        } catch (Throwable e) { // the boundary around foreign code
            failed.run();
            ForeignErrors.warn(LOG, owner + ": its " + what + " failed", e);
        } finally {
            if (!executor.isClosed()) { // close interrupts running callbacks, and ones that begin now
                Threads.restoreInterrupt(false);
            }
            thread.setContextClassLoader(before);
            current.leave(outside);
            running.remove(call);
        }
    }

    /** Reports callbacks that don't return, once each. */
    void look(long nowNs) {
        for (Callback call : running) {
            if (!call.reported && nowNs - call.sinceNs >= STUCK_NS) {
                call.reported = true;
                failed.run();
                StackTraceElement[] stack = call.thread.getStackTrace();
                LOG.warn(
                        "{} has not returned from its {} for {} ms, on thread {}, at {}",
                        owner,
                        call.what,
                        (nowNs - call.sinceNs) / 1_000_000,
                        call.thread.getName(),
                        stack.length == 0 ? "its end" : stack[0]);
            }
        }
    }

    /**
     * Ends all threads, and interrupts running callbacks, except the one that calls this. Returns the number of threads
     * that did not end.
     */
    int close(Duration limit) {
        Thread self = Thread.currentThread();
        boolean inside = running.stream().anyMatch(call -> call.thread == self);
        if (!inside) {
            return executor.close(limit);
        }
        boolean interrupted = Thread.interrupted();
        int left = executor.close(Duration.ZERO) - 1;
        Thread.interrupted(); // the close that this callback has begun continues
        if (interrupted) {
            self.interrupt();
        }
        return left;
    }

    /** Callback that runs now. */
    private static final class Callback {
        private final String what;
        private final Thread thread;
        private final long sinceNs;
        private boolean reported; // by the housekeeper

        Callback(String what, Thread thread, long sinceNs) {
            this.what = what;
            this.thread = thread;
            this.sinceNs = sinceNs;
        }
    }
}
