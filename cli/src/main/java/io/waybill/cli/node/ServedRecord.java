package io.waybill.cli.node;

import io.waybill.host.Clock;
import io.waybill.host.Host;
import io.waybill.host.agent.AgentThread;
import io.waybill.host.agent.ParkingIdleStrategy;
import io.waybill.host.agent.WakeableIdleStrategy;
import io.waybill.worker.Worker;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import org.agrona.concurrent.Agent;

/**
 * Publisher of a node's served operations, after each change.
 *
 * <p><b>Threads.</b> {@link #changed}: any, without waiting; one separate thread writes.
 */
final class ServedRecord implements Agent, AutoCloseable {

    private static final int MAX_SHOWN = 1000;
    private static final long GATHER_NS = 20_000_000; // several handlers of a bundle arrive together

    private final Worker worker;
    private final Clock clock;
    private final Supplier<Map<String, String>> shown;
    private final WakeableIdleStrategy idle;
    private final AgentThread thread;
    private volatile boolean changed; // set by any thread, cleared by the agent's thread
    private boolean gathering; // owned by the agent's thread, like the next field
    private long publishNs; // on the monotonic clock, while it gathers

    /** @param shown current settings to publish */
    ServedRecord(Worker worker, Host host, Supplier<Map<String, String>> shown) {
        this.worker = worker;
        this.clock = host.clock();
        this.shown = shown;
        this.idle = new ParkingIdleStrategy(clock, host.threads());
        this.thread = new AgentThread("waybill-served", this, idle);
        thread.start(host.threads());
    }

    /** Notifies of a change of the handlers. */
    void changed() {
        changed = true;
        idle.wake();
    }

    /** Publishes immediately. */
    void publish() throws IOException {
        Map<String, String> now = new HashMap<>(shown.get());
        List<String> stuck = worker.stuck();
        if (!stuck.isEmpty()) {
            now.put(Node.STUCK, shown(stuck));
        }
        worker.ready(now);
    }

    /** Formats as many keys as fit in a field of the record. */
    static String shown(List<String> keys) {
        StringBuilder text = new StringBuilder(keys.get(0));
        for (int i = 1; i < keys.size(); i++) {
            if (text.length() + keys.get(i).length() > MAX_SHOWN) {
                return text.append(" and ")
                        .append(keys.size() - i)
                        .append(" more")
                        .toString();
            }
            text.append(' ').append(keys.get(i));
        }
        return text.toString();
    }

    @Override
    public String roleName() {
        return "served";
    }

    @Override
    public int doWork() {
        long nowNs = clock.monotonicNs();
        if (!changed) {
            idle.rest(Long.MAX_VALUE);
            return 0;
        }
        if (!gathering) {
            gathering = true;
            publishNs = nowNs + GATHER_NS;
        }
        if (publishNs - nowNs > 0) {
            idle.rest(publishNs - nowNs);
            return 0;
        }
        publishChange();
        return 1;
    }

    /** Publishes a change, and retries after a failure, such as on a full disk, until it succeeds. */
    private void publishChange() {
        changed = false; // before the change is read
        boolean published = false;
        try {
            publish();
            published = true;
        } catch (IOException e) {
            throw new UncheckedIOException(
                    "what this node serves can't be published, and is published again: " + e.getMessage(), e);
        } finally {
            changed |= !published;
            gathering = !published;
        }
    }

    /** Returns how many attempts to publish a change failed. */
    long failures() {
        return thread.failures();
    }

    @Override
    public void close() {
        thread.close();
    }
}
