package io.waybill.cli.supervise;

import io.waybill.host.Threads;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * Node that is restarted whenever its process ends, until it is stopped, or was started wrongly.
 *
 * <p><b>Threads.</b> A separate thread runs {@link #run()}; any may stop it. <b>Ownership.</b> Its creator stops it.
 */
final class SupervisedNode implements Runnable {

    private final String name;
    private final ProcessBuilder builder;
    private final BackOff backOff;
    private final MemoryKills memoryKills;
    private final Threads threads;
    private final Consumer<NodeEvent> events;
    private final Consumer<String> log;
    private final CountDownLatch stop = new CountDownLatch(1);
    private final CountDownLatch ended = new CountDownLatch(1);
    private NodeProcess running; // guarded by this; null while there is none
    private volatile boolean givenUp; // set by its own thread, read by any thread

    /**
     * @param builder builder of its processes
     * @param log receives lines of their standard error
     */
    SupervisedNode(
            String name,
            ProcessBuilder builder,
            RestartSettings restarts,
            Threads threads,
            Consumer<NodeEvent> events,
            Consumer<String> log) {
        this.name = name;
        this.builder = builder;
        this.backOff = new BackOff(restarts);
        this.memoryKills = MemoryKills.ofThisHost();
        this.threads = threads;
        this.events = events;
        this.log = log;
    }

    @Override
    public void run() {
        try {
            boolean goesOn = true;
            while (goesOn) {
                goesOn = live();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            ended.countDown();
        }
    }

    /** Runs one incarnation; returns whether to start another one. */
    private boolean live() throws InterruptedException {
        NodeProcess process = null;
        NodeEnd death;
        try {
            process = start();
            if (process == null) {
                return false;
            }
            events.accept(new NodeEvent.Started(name, process.pid()));
            process.listen(threads, (pid, id) -> events.accept(new NodeEvent.Ready(name, pid, id)), log);
            death = process.awaitDeath();
        } catch (IOException e) {
            death = new NodeEnd(ExitCodes.NOT_FOUND, String.valueOf(e.getMessage()), "", Duration.ZERO, List.of());
        }
        long pid = process == null ? 0 : process.pid();
        synchronized (this) {
            running = null;
        }
        if (stop.getCount() == 0 || death.exitCode() == ExitCodes.STAYS_STOPPED) {
            events.accept(new NodeEvent.Stopped(name, pid, death.exitCode()));
            return false;
        }
        if (death.wasStartedWrongly()) {
            givenUp = true;
            events.accept(new NodeEvent.GivenUp(name, pid, death));
            return false;
        }
        Duration wait = backOff.after(death.ran());
        events.accept(new NodeEvent.Died(name, pid, death, wait));
        return !stop.await(wait.toNanos(), TimeUnit.NANOSECONDS);
    }

    /** Starts a process; returns null if the node was stopped. */
    private synchronized NodeProcess start() throws IOException {
        if (stop.getCount() > 0) {
            running = NodeProcess.start(builder, memoryKills);
        }
        return running;
    }

    /** Returns whether the node is not restarted because it was started wrongly. */
    boolean isGivenUp() {
        return givenUp;
    }

    /** Requests the node to stop, and does not wait. */
    synchronized void stop() {
        stop.countDown();
        if (running != null) {
            running.stop();
        }
    }

    /** Waits up to a limit for the final end of the node; returns whether it has ended. */
    boolean awaitEnd(long limitNs) throws InterruptedException {
        return ended.await(limitNs, TimeUnit.NANOSECONDS);
    }

    /** Kills its process. */
    synchronized void kill(Duration limit) {
        if (running != null) {
            events.accept(new NodeEvent.Killed(name, running.pid(), limit));
            running.kill();
        }
    }
}
