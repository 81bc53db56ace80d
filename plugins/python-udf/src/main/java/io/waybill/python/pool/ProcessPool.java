package io.waybill.python.pool;

import io.waybill.api.ErrorCode;
import io.waybill.api.Message;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.broker.Broker;
import io.waybill.api.handler.Outbox;
import io.waybill.python.link.ProcessLink;
import io.waybill.python.wire.FrameChannel;
import io.waybill.python.wire.Hello;
import io.waybill.python.wire.ProcessError;
import io.waybill.python.wire.ProtocolException;
import io.waybill.python.wire.SocketFrame;
import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Semaphore;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;

/**
 * Python processes, started when calls need them, with one call at a time each. A process that dies costs its own call;
 * another one takes its place at the next call.
 *
 * <p>Thread-safe.
 */
public final class ProcessPool implements AutoCloseable {

    private static final int TOKEN_BYTES = 16;
    private static final Logger LOG = System.getLogger(ProcessPool.class.getName());

    private volatile PoolSettings settings; // written under this
    private final Broker broker;
    private final SocketPath socket;
    private final ThreadFactory threads;
    private final String tokens; // beginning of each, made outside of a handler
    private int started; // guarded by this
    private final Slots slots;
    private final Map<String, PoolProcess> starting = new HashMap<>(); // by token; guarded by this
    private final List<PoolProcess> all = new ArrayList<>(); // guarded by this
    private final Set<PoolProcess> alive = new HashSet<>(); // those and others that have not ended yet; guarded by this
    private final Deque<PoolProcess> idle = new ArrayDeque<>(); // the last one used is first; guarded by this
    private boolean closed; // guarded by this

    /** A permit for each process that there may be. */
    private static final class Slots extends Semaphore {

        private static final long serialVersionUID = 1;

        Slots(int count) {
            super(count, true);
        }

        void change(int by) {
            if (by < 0) {
                reducePermits(-by);
            } else {
                release(by);
            }
        }
    }

    /** Source of the path to which the processes connect. */
    @FunctionalInterface
    public interface SocketPath {

        /** Returns the path, and listens there from the first call on. */
        Path get() throws IOException;
    }

    /** @param socket returns the path of the gateway's socket, to which the processes connect */
    public ProcessPool(PoolSettings settings, Broker broker, SocketPath socket) {
        this(settings, broker, socket, PoolProcess::thread);
    }

    ProcessPool(PoolSettings settings, Broker broker, SocketPath socket, ThreadFactory threads) {
        this.threads = threads;
        this.settings = settings;
        this.broker = broker;
        this.socket = socket;
        byte[] random = new byte[TOKEN_BYTES];
        new SecureRandom().nextBytes(random);
        this.tokens = HexFormat.of().formatHex(random) + "-";
        this.slots = new Slots(settings.size());
    }

    /**
     * Applies other settings. Processes that would be started in another way now, and those that are too many, get
     * no further call: they continue with their present call, and with objects that they keep.
     */
    public void change(PoolSettings next) {
        List<PoolProcess> unwanted = new ArrayList<>();
        synchronized (this) {
            PoolSettings former = settings;
            settings = next;
            slots.change(next.size() - former.size());
            if (!former.startsAs(next)) {
                unwanted.addAll(all);
            } else {
                // of those that rest the one that was used last is the first
                idle.stream().skip(Math.max(0, next.size() - busy())).forEach(unwanted::add);
            }
            unwanted.removeIf(PoolProcess::isLeaving);
        }
        unwanted.forEach(this::leave);
    }

    /** Returns the number of processes with a call that may get another one. */
    private synchronized int busy() {
        return (int) all.stream().filter(each -> !each.isLeaving()).count() - idle.size();
    }

    /**
     * Has a process serve a request, and responds with its result. Waits for a process and for the result.
     *
     * @throws RejectedMessageException when there is no process, or the function failed with its process
     */
    public void serve(Message message, Outbox outbox) throws RejectedMessageException {
        if (settings.size() == 0) {
            throw new RejectedMessageException(
                    ErrorCode.REFUSED, "this node has no Python processes: pool.size in io.waybill.python.cfg is 0");
        }
        await(message.remainingNs());
        try {
            PoolProcess process = take();
            try {
                process.awaitReady(message.remainingNs());
                process.serve(message, outbox);
            } finally {
                if (process.isUsable()) {
                    give(process);
                } else {
                    ended(process);
                    process.kill(settings.killAfter());
                }
            }
        } finally {
            slots.release();
        }
    }

    /**
     * Waits until fewer calls run than there may be processes. Looks at no clock itself: a replay would take that for
     * an input.
     */
    private void await(long remainingNs) throws RejectedMessageException {
        try {
            if (!slots.tryAcquire(remainingNs, TimeUnit.NANOSECONDS)) {
                throw new RejectedMessageException(
                        ErrorCode.TIMED_OUT,
                        "all " + settings.size() + " Python processes were busy until the deadline");
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new RejectedMessageException(ErrorCode.HANDLER_GONE, "the gateway stops", e);
        }
    }

    private synchronized PoolProcess take() throws RejectedMessageException {
        if (closed) {
            throw new RejectedMessageException(ErrorCode.CLOSED, "the pool is closed");
        }
        PoolProcess free = idle.poll();
        if (free == null) {
            free = newProcess();
            all.add(free);
            alive.add(free);
        }
        return free;
    }

    private PoolProcess newProcess() throws RejectedMessageException {
        String token = tokens + ++started;
        try {
            return new PoolProcess(token, settings, socket, this::starting, this::ended, this::gone, threads);
        } catch (OutOfMemoryError e) {
            throw new RejectedMessageException(
                    ErrorCode.RESOURCE_UNAVAILABLE,
                    "no thread for a Python process: the host refused it (" + e.getMessage()
                            + "); raise the limit of threads (ulimit -u, TasksMax, or pids.max of the container)",
                    e);
        }
    }

    private synchronized void starting(PoolProcess process) {
        starting.put(process.token(), process);
    }

    private void give(PoolProcess process) {
        synchronized (this) {
            if (!process.isLeaving() && (closed || !all.contains(process))) {
                return;
            }
            if (!process.isLeaving() && busy() + idle.size() <= settings.size()) {
                idle.push(process);
                return;
            }
            process.leaves();
        }
        process.leaveWhenUnused();
    }

    /**
     * Gives a process no further call: its code or its settings have changed. It continues with its present call, and
     * with objects that it keeps.
     */
    private void leave(PoolProcess process) {
        boolean isIdle;
        synchronized (this) {
            process.leaves();
            isIdle = idle.remove(process);
        }
        if (isIdle) { // otherwise the end of its call finds that it leaves
            process.leaveWhenUnused();
        }
    }

    private synchronized void ended(PoolProcess process) {
        all.remove(process);
        idle.remove(process);
        starting.remove(process.token());
    }

    private synchronized void gone(PoolProcess process) {
        alive.remove(process);
    }

    /**
     * Serves the connection of a process of the pool until it ends.
     *
     * @throws IOException when the connection failed, or the process broke the protocol
     */
    public void run(Hello hello, FrameChannel channel) throws IOException {
        PoolProcess process;
        synchronized (this) {
            process = starting.remove(hello.token());
        }
        if (process == null) {
            throw new ProtocolException("the token in HELLO is none that the pool has given");
        }
        ProcessLink link = ProcessLink.to(process.name(), hello, channel, broker, (limit, others) -> {
            throw new IllegalStateException("a pool process has no worker of its own that could be shut down");
        });
        String why = process.name() + " has ended while it served the request";
        try {
            PoolSettings own = process.settings();
            link.welcome(own.byValue(), own.path(), own.reload());
            process.connected(link);
            if (link.run()) {
                leave(process);
                link.run();
            }
        } catch (ProtocolException e) {
            why = process.name() + " was disconnected: " + e.getMessage();
            LOG.log(Level.WARNING, why);
            channel.closeWith(SocketFrame.of(0, new ProcessError(ErrorCode.MALFORMED_BODY, e.getMessage())));
        } finally {
            ended(process);
            process.kill(settings.killAfter());
            link.end(process.describe(why));
        }
    }

    @Override
    public void close() {
        List<PoolProcess> left;
        synchronized (this) {
            closed = true;
            left = new ArrayList<>(alive);
        }
        left.forEach(process -> process.kill(settings.killAfter()));
        try {
            for (PoolProcess process : left) { // a node that stops leaves none behind
                process.awaitEnd();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
