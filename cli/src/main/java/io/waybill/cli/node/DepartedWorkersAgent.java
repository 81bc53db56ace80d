package io.waybill.cli.node;

import io.waybill.home.Home;
import io.waybill.host.agent.AgentThread;
import io.waybill.host.agent.ParkingIdleStrategy;
import io.waybill.host.agent.WakeableIdleStrategy;
import io.waybill.query.DepartedWorkers;
import java.io.IOException;
import java.time.Duration;
import org.agrona.concurrent.Agent;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Removes from the home the workers that left in order some time ago, once a minute. Several nodes may run it
 * concurrently.
 *
 * <p><b>Threads.</b> One separate thread, until it is closed.
 */
final class DepartedWorkersAgent implements Agent, AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(DepartedWorkersAgent.class);
    private static final Duration MAX_INTERVAL = Duration.ofMinutes(1);

    private final Home home;
    private final Duration age;
    private final long intervalNs;
    private final WakeableIdleStrategy idle;
    private final AgentThread thread;
    private boolean failed;

    private DepartedWorkersAgent(Home home, String nodeName, Duration age) {
        this.home = home;
        this.age = age;
        this.intervalNs = Math.min(age.toNanos(), MAX_INTERVAL.toNanos());
        this.idle = new ParkingIdleStrategy(home.host().clock(), home.host().threads());
        this.thread = new AgentThread(nodeName + "-departed", this, idle);
    }

    /**
     * Starts the agent; returns null without an age.
     *
     * @param age min time since a removed worker left; 0 for none
     */
    static DepartedWorkersAgent start(Home home, String nodeName, Duration age) {
        if (age.isZero()) {
            return null;
        }
        DepartedWorkersAgent agent = new DepartedWorkersAgent(home, nodeName, age);
        agent.thread.start(home.host().threads());
        return agent;
    }

    @Override
    public String roleName() {
        return "departed workers";
    }

    @Override
    public int doWork() {
        try {
            int removed = DepartedWorkers.removeLeftBefore(home, age);
            if (removed > 0) {
                LOG.info("Removed {} workers that left more than {} ago", removed, age);
            }
            failed = false;
        } catch (IOException e) {
            if (!failed) { // another node may be removing it; the next run retries
                failed = true;
                LOG.warn("Not all workers that left could be removed; retrying: {}", e.getMessage());
            }
        }
        idle.rest(intervalNs);
        return 0;
    }

    @Override
    public void close() {
        thread.close();
    }
}
