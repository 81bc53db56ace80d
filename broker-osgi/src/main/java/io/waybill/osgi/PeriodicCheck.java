package io.waybill.osgi;

import io.waybill.host.Host;
import io.waybill.host.agent.AgentThread;
import io.waybill.host.agent.ParkingIdleStrategy;
import io.waybill.host.agent.WakeableIdleStrategy;
import java.time.Duration;
import org.agrona.concurrent.Agent;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Agent that runs a check at an interval, on its own thread, until it is ended. */
final class PeriodicCheck implements Agent {

    private static final Logger LOG = LoggerFactory.getLogger(PeriodicCheck.class);

    private final String name;
    private final Duration interval;
    private final Runnable look;
    private final WakeableIdleStrategy idle;
    private final AgentThread thread;
    private volatile Thread running; // null before the first duty cycle
    private boolean isDue; // owned by the agent's thread; true if an interval has passed

    PeriodicCheck(Host host, String name, Duration interval, Runnable look) {
        this.name = name;
        this.interval = interval;
        this.look = look;
        this.idle = new ParkingIdleStrategy(host.clock(), host.threads());
        this.thread = new AgentThread(name, this, idle);
        thread.start(host.threads());
    }

    @Override
    public String roleName() {
        return "check";
    }

    @Override
    public void onStart() {
        running = Thread.currentThread();
    }

    @Override
    public int doWork() {
        if (isDue) {
            lookSafely();
        }
        isDue = true;
        idle.rest(interval.toNanos());
        return 0;
    }

    /**
     * Runs one check and contains its errors. The next check runs after an interval: changes must be stable for that
     * long.
     */
    private void lookSafely() {
        try {
            look.run();
        } catch (RuntimeException | Error e) {
            LOG.error("{} failed and goes on", name, e);
        }
    }

    /** Interrupts a running check. Returns when the thread has ended. */
    void end() {
        thread.stop();
        Thread looking = running;
        if (looking != null) {
            looking.interrupt();
        }
        thread.close();
    }
}
