package io.waybill.worker;

import io.waybill.host.Host;
import io.waybill.host.Threads;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.regex.Pattern;

/** Real threads, of which the first of a name is refused, or each of a name begins with an interrupt. Thread-safe. */
public final class FaultyThreads implements Threads {

    /** What happens to the threads of the name. */
    public enum Fault {
        REFUSED_ONCE,
        INTERRUPTED
    }

    private final Threads real = Host.real().threads();
    private final List<Thread> hit = new CopyOnWriteArrayList<>();
    private final AtomicBoolean refused = new AtomicBoolean();
    private final Fault fault;
    private final Pattern name;

    public FaultyThreads(Fault fault, Pattern name) {
        this.fault = fault;
        this.name = name;
    }

    @Override
    public Thread start(String name, Runnable body) {
        if (!this.name.matcher(name).matches()) {
            return real.start(name, body);
        }
        if (fault == Fault.REFUSED_ONCE && refused.compareAndSet(false, true)) {
            throw new OutOfMemoryError("unable to create native thread: made by the test");
        }
        Thread thread = real.start(name, fault == Fault.INTERRUPTED ? () -> interrupted(body) : body);
        hit.add(thread);
        return thread;
    }

    private static void interrupted(Runnable body) {
        Thread.currentThread().interrupt();
        body.run();
    }

    @Override
    public void pause(long ns) {
        real.pause(ns);
    }

    /** Whether a thread of the name was refused. */
    public boolean hasRefused() {
        return refused.get();
    }

    /** Interrupts the threads of the name that live. Returns how many were started until now. */
    public int interrupt() {
        if (fault == Fault.INTERRUPTED) {
            hit.forEach(Thread::interrupt);
        }
        return hit.size();
    }
}
