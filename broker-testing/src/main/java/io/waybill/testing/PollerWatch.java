package io.waybill.testing;

import io.waybill.host.Host;
import io.waybill.host.Threads;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/**
 * Detects handlers that block the poller, and with it every other call of the worker.
 *
 * <p>A thread in a handler has the class loader of the handler's bundle as its context class loader. If it waits there
 * (sleeps, parks, waits for an object) at two consecutive checks, that is a finding; one for each bundle.
 *
 * <p><b>Threads.</b> A separate thread checks. <b>Ownership.</b> Its creator closes it.
 */
final class PollerWatch implements Threads, AutoCloseable {

    private static final long LOOK_NS = 5_000_000;
    private static final String POLLER = "-poller-";
    private static final int MAX_FRAMES = 12;

    private final Threads threads;
    private final ClassLoader own = Thread.currentThread().getContextClassLoader();
    private final List<Thread> pollers = new CopyOnWriteArrayList<>();
    private final List<String> findings = new CopyOnWriteArrayList<>();
    private volatile boolean ended; // set by the closing thread, read by the checking one

    PollerWatch(Threads threads) {
        this.threads = threads;
    }

    /** Returns a host whose pollers are watched. */
    Host on(Host host) {
        threads.start("poller-watch", this::run);
        return host.withThreads(this);
    }

    @Override
    public Thread start(String name, Runnable body) {
        Thread thread = threads.start(name, body);
        if (name.contains(POLLER)) {
            pollers.add(thread);
        }
        return thread;
    }

    /** Returns the locations at which handlers waited; empty if none did. */
    List<String> findings() {
        return List.copyOf(findings);
    }

    private void run() {
        List<Thread> waited = new ArrayList<>();
        while (!ended) {
            List<Thread> waiting = new ArrayList<>();
            for (Thread poller : pollers) {
                if (waitsInAHandler(poller)) {
                    waiting.add(poller);
                    if (waited.contains(poller)) {
                        found(poller);
                    }
                }
            }
            waited = waiting;
            threads.pause(LOOK_NS);
        }
    }

    private boolean waitsInAHandler(Thread poller) {
        Thread.State state = poller.getState();
        boolean waits = state == Thread.State.WAITING || state == Thread.State.TIMED_WAITING;
        return waits && poller.getContextClassLoader() != own;
    }

    private void found(Thread poller) {
        StackTraceElement[] stack = poller.getStackTrace();
        if (!waitsInAHandler(poller)) {
            return; // the handler returned meanwhile
        }
        StringBuilder text = new StringBuilder(poller.getName()
                + ", which reads the worker's messages, waits in a handler of " + poller.getContextClassLoader());
        for (int i = 0; i < Math.min(stack.length, MAX_FRAMES); i++) {
            text.append("\n    at ").append(stack[i]);
        }
        if (findings.isEmpty()) {
            findings.add(text.toString());
        }
    }

    @Override
    public void close() {
        ended = true;
    }
}
