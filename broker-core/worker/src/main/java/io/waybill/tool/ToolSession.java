package io.waybill.tool;

import io.waybill.api.MessageId;
import io.waybill.api.Value;
import io.waybill.api.ValueEncoder;
import io.waybill.api.tool.ToolCommand;
import io.waybill.api.tool.ToolFailedException;
import io.waybill.api.tool.ToolRun;
import io.waybill.host.Clock;
import io.waybill.host.Threads;
import io.waybill.host.failure.ForeignErrors;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CancellationException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Run of a command, from its start until its user has read the outcome and its thread has ended. It has one outcome: of
 * its return, or of the event that ends it before.
 *
 * <p><b>Threads.</b> Thread-safe. The command runs on one thread of its own; a second one ends the run at its limit, or
 * when its user stops reading. <b>Ownership.</b> Refers to nothing of the command's bundle but its thread, while that
 * runs.
 */
final class ToolSession implements ToolRun {

    private static final Logger LOG = LoggerFactory.getLogger(ToolSession.class);
    private static final int MAX_TEXT = 1_000;
    private static final long MAX_PAUSE_S = TimeUnit.DAYS.toSeconds(365);
    /** Max wait of a read for output. */
    private static final long READ_NS = TimeUnit.SECONDS.toNanos(1);
    /** Max time of a user from one read to the next. */
    private static final long LEASE_NS = TimeUnit.SECONDS.toNanos(10);
    /** Max time for the thread of an ended run to return. */
    static final long GRACE_NS = TimeUnit.SECONDS.toNanos(1);

    private final String what;
    private final ToolCounts counts;
    private final ToolArguments arguments;
    private final Start start;
    private final Duration limit;
    private final Clock clock;
    private final long beganNs;

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    // The next fields are guarded by lock.
    private final UnreadOutput unread = new UnreadOutput();
    private Thread thread;
    private boolean threadEnded;
    private boolean reading;
    private long lastReadNs;
    private boolean completed;
    private boolean fetched;
    private int exitCode;
    private String error = "";

    /**
     * Request that started a run.
     *
     * @param id of the request
     * @param from worker id of the user
     * @param isJson whether the user wants JSON
     */
    record Start(long id, int from, boolean isJson) {}

    /**
     * Output since the last read.
     *
     * @param items texts, and JSON documents as tuples of one
     * @param isDone whether no more output follows, so that the outcome counts
     */
    record Output(List<Value> items, boolean isDone, int exitCode, String error) {}

    /**
     * Creates a run that has not begun.
     *
     * @param what name of the command and its bundle, for errors
     */
    ToolSession(String what, ToolCounts counts, ToolArguments arguments, Start start, Duration limit, Clock clock) {
        this.what = what;
        this.counts = counts;
        this.arguments = arguments;
        this.start = start;
        this.limit = limit;
        this.clock = clock;
        this.beganNs = clock.monotonicNs();
        this.lastReadNs = beganNs;
    }

    /** Starts the command, and calls {@code ended} when nothing of the run is left. */
    void begin(Threads threads, String threadName, ToolCommand command, Runnable ended) {
        threads.start(threadName + "-watch", () -> {
            try {
                watch();
            } finally {
                ended.run();
            }
        });
        counts.begun();
        try {
            threads.start(threadName, () -> run(command));
        } catch (RuntimeException | Error e) { // no memory for a thread
            finish(ToolFailedException.FAILED, what + " could not be started: " + ForeignErrors.describe(e));
        }
    }

    /** Calls the command: the boundary around foreign code. */
    private void run(ToolCommand command) {
        Thread.currentThread().setContextClassLoader(command.getClass().getClassLoader());
        int code = 0;
        String text = "";
        try {
            if (enter()) {
                command.run(this);
            }
        } catch (ToolFailedException e) {
            code = e.exitCode();
            text = ForeignErrors.message(e);
        } catch (Throwable e) {
            code = ToolFailedException.FAILED;
            text = what + " failed: " + ForeignErrors.describe(e);
            if (!isCancelled()) {
                counts.failed();
                ForeignErrors.warn(LOG, what + " failed, run by message " + MessageId.text(start.id), e);
            }
        } finally {
            Thread.currentThread().setContextClassLoader(null);
            finish(code, text);
        }
    }

    /** Returns whether the run has no outcome yet. From here on its thread is interrupted when it is ended. */
    private boolean enter() {
        lock.lock();
        try {
            thread = Thread.currentThread();
            return !completed;
        } finally {
            lock.unlock();
        }
    }

    private void finish(int code, String text) {
        lock.lock();
        try {
            threadEnded = true;
            complete(code, text);
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** Sets the outcome, unless there is one. Returns whether this call did. */
    private boolean complete(int code, String text) {
        if (completed) {
            return false;
        }
        completed = true;
        exitCode = code;
        error = text.length() > MAX_TEXT ? text.substring(0, MAX_TEXT) + "…" : text;
        changed.signalAll();
        return true;
    }

    /** Ends the run, if it has no outcome yet. */
    void cancel(String why) {
        lock.lock();
        try {
            complete(ToolFailedException.FAILED, what + " was ended: " + why);
        } finally {
            lock.unlock();
        }
    }

    /** Waits until the command's thread has ended. Returns whether it has. */
    boolean awaitThread(long limitNs) {
        lock.lock();
        try {
            return awaitEndedThread(limitNs);
        } finally {
            lock.unlock();
        }
    }

    private boolean awaitEndedThread(long limitNs) {
        long untilNs = clock.monotonicNs() + limitNs;
        while (!threadEnded && untilNs - clock.monotonicNs() > 0) {
            await(untilNs - clock.monotonicNs());
        }
        return threadEnded;
    }

    /** Waits for a change. An interrupt does not end the run. */
    private void await(long ns) {
        try {
            changed.awaitNanos(ns);
        } catch (InterruptedException e) {
            LOG.debug("{}: an interrupt is ignored", what);
        }
    }

    /** Ends the run when it must end, and waits until nothing of it is left. */
    private void watch() {
        lock.lock();
        try {
            while (!completed) {
                await(completeWhenDue());
            }
            if (!threadEnded) {
                if (thread != null) {
                    thread.interrupt();
                }
                if (!awaitEndedThread(GRACE_NS)) {
                    awaitStuckThread();
                }
            }
            while (!fetched && leaseNs() > 0) {
                await(leaseNs());
            }
        } finally {
            lock.unlock();
        }
    }

    /** Completes a run that is due. Returns when to check again. */
    private long completeWhenDue() {
        long limitNs = limit.isZero() ? Long.MAX_VALUE : limit.toNanos() - (clock.monotonicNs() - beganNs);
        if (limitNs <= 0) {
            overrun(what + " did not end within " + limit.toMillis() + " ms");
        } else if (leaseNs() <= 0) {
            complete(ToolFailedException.FAILED, what + " was ended: its user has left");
        }
        return Math.max(0, Math.min(limitNs, leaseNs()));
    }

    /** Ends a run that exceeds one of its limits. */
    private void overrun(String text) {
        if (complete(ToolFailedException.FAILED, text)) {
            counts.failed();
            LOG.warn("{}, run by message {}", text, MessageId.text(start.id));
        }
    }

    private long leaseNs() {
        return reading ? LEASE_NS : LEASE_NS - (clock.monotonicNs() - lastReadNs);
    }

    private void awaitStuckThread() {
        counts.stuck(1);
        StackTraceElement[] stack = thread == null ? new StackTraceElement[0] : thread.getStackTrace();
        LOG.warn(
                "{} has not returned {} ms after its end, run by message {}, at {}",
                what,
                GRACE_NS / 1_000_000,
                MessageId.text(start.id),
                stack.length == 0 ? "its end" : stack[0]);
        while (!threadEnded) {
            await(LEASE_NS);
        }
        counts.stuck(-1);
    }

    /** Returns the output since the last read; waits up to a second if there is none. */
    Output read() {
        lock.lock();
        try {
            long untilNs = clock.monotonicNs() + READ_NS;
            reading = true;
            while (unread.isEmpty() && !completed && untilNs - clock.monotonicNs() > 0) {
                changed.awaitNanos(untilNs - clock.monotonicNs());
            }
            return take();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return take();
        } finally {
            reading = false;
            lastReadNs = clock.monotonicNs();
            changed.signalAll();
            lock.unlock();
        }
    }

    private Output take() {
        List<Value> items = unread.take();
        fetched = completed && unread.isEmpty();
        return new Output(items, fetched, exitCode, error);
    }

    /** Returns the worker whose run this is. */
    int from() {
        return start.from;
    }

    @Override
    public List<String> arguments() {
        return arguments.arguments();
    }

    @Override
    public Optional<String> option(String name) {
        return Optional.ofNullable(arguments.options().get(name));
    }

    @Override
    public boolean isSet(String flag) {
        return arguments.options().containsKey(flag);
    }

    @Override
    public boolean isJson() {
        return start.isJson;
    }

    @Override
    public void line(String text) {
        requireSize(text.length());
        add(Value.of(text), text.length() + 1);
    }

    @Override
    public void json(Value document) {
        Value item = Value.tuple(document);
        ValueEncoder encoder = new ValueEncoder().value(Value.list(item));
        if (!encoder.tensors().isEmpty() || !encoder.references().isEmpty()) {
            throw new IllegalArgumentException(
                    "a document has numbers, texts, lists and dicts, and no tensors or references");
        }
        requireSize(encoder.length());
        add(item, encoder.length());
    }

    private static void requireSize(int size) {
        if (size > MAX_ITEM) {
            throw new IllegalArgumentException(
                    "a line or a document has at most " + MAX_ITEM + " characters or bytes, and this one " + size);
        }
    }

    private void add(Value item, int size) {
        lock.lock();
        try {
            while (!completed && !unread.hasRoom(size)) {
                changed.awaitUninterruptibly();
            }
            if (!unread.count(size)) {
                overrun(what + " wrote more than " + (MAX_OUTPUT >> 20) + " MiB");
            }
            if (completed) {
                throw new CancellationException(error.isEmpty() ? what + " has ended" : error);
            }
            unread.add(item, size);
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    @Override
    public boolean isCancelled() {
        lock.lock();
        try {
            return completed;
        } finally {
            lock.unlock();
        }
    }

    @Override
    public boolean pause(Duration time) {
        lock.lock();
        try {
            long untilNs =
                    clock.monotonicNs() + Math.min(time.toSeconds(), MAX_PAUSE_S) * 1_000_000_000 + time.getNano();
            while (!completed && untilNs - clock.monotonicNs() > 0) {
                changed.awaitNanos(untilNs - clock.monotonicNs());
            }
            return !completed;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        } finally {
            lock.unlock();
        }
    }
}
