package io.waybill.worker.upkeep;

import io.waybill.api.WorkerInfo;
import io.waybill.api.metrics.OperationMetrics;
import io.waybill.api.metrics.WorkerMetrics;
import io.waybill.home.WorkerDirectory;
import io.waybill.host.Host;
import io.waybill.host.agent.AgentThread;
import io.waybill.host.agent.ParkingIdleStrategy;
import io.waybill.host.agent.WakeableIdleStrategy;
import io.waybill.worker.metrics.MetricsFile;
import io.waybill.worker.metrics.WorkerCounters;
import io.waybill.worker.metrics.WorkerFigures;
import io.waybill.worker.peer.Links;
import io.waybill.worker.peer.PeerLink;
import java.io.IOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.function.ToLongFunction;
import org.agrona.concurrent.Agent;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Publishes the figures of a worker in its directory: once a second, if a count has changed since, and a last time when
 * the worker leaves.
 *
 * <p><b>Threads.</b> One of its own. <b>Errors.</b> A file that can't be written is logged once; the worker continues,
 * and the next attempt follows.
 */
public final class MetricsPublisher implements Agent, AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(MetricsPublisher.class);
    private static final long INTERVAL_NS = 1_000_000_000L;
    /** Interval after some checks without a change, until there are messages: other changes are published later. */
    private static final long RESTING_INTERVAL_NS = 5_000_000_000L;

    private static final int LOOKS_BEFORE_REST = 10;

    private final WorkerDirectory directory;
    private final Host host;
    private final WorkerCounters counters;
    private final Links links;
    private final Supplier<Map<String, Long>> values;
    private final MetricsFile file;
    private final WakeableIdleStrategy idle;
    private long publishedChanges = -1;
    private Map<String, Long> publishedValues = Map.of();
    private Map<Integer, Long> publishedUnread = Map.of();
    private boolean failing;
    private int looksWithoutChange;
    private volatile boolean resting; // set by the publishing thread, cleared by the housekeeper
    private volatile AgentThread thread; // null before it starts

    /** @param values gauges and further counters by name, without those that change by themselves */
    public MetricsPublisher(
            WorkerDirectory directory, WorkerCounters counters, Links links, Supplier<Map<String, Long>> values) {
        this.directory = directory;
        this.host = directory.home().host();
        this.counters = counters;
        this.links = links;
        this.values = values;
        this.file = new MetricsFile(directory.path(), host.files());
        this.idle = new ParkingIdleStrategy(host.clock(), host.threads());
    }

    /** Starts the thread, whose long rests this housekeeper ends when there are messages. */
    public void start(Housekeeper housekeeper) {
        housekeeper.onActivity(this::wake);
        thread = new AgentThread(directory.name() + "-metrics", this, idle);
        thread.start(host.threads());
    }

    @Override
    public String roleName() {
        return "metrics";
    }

    @Override
    public int doWork() {
        publish();
        resting = looksWithoutChange >= LOOKS_BEFORE_REST;
        idle.rest(resting ? RESTING_INTERVAL_NS : INTERVAL_NS);
        return 0;
    }

    private void wake() {
        if (resting) {
            resting = false;
            idle.wake();
        }
    }

    private void publish() {
        long changes = counters.changes();
        Map<String, Long> steady = values.get();
        Map<Integer, Long> unread = unread();
        if (changes == publishedChanges && steady.equals(publishedValues) && unread.equals(publishedUnread)) {
            looksWithoutChange++;
            return;
        }
        looksWithoutChange = 0;
        try {
            file.write(new WorkerFigures(figures(steady), unread));
            publishedChanges = changes;
            publishedValues = steady;
            publishedUnread = unread;
            failing = false;
        } catch (IOException e) { // such as a full disk
            failed(e.getMessage(), null);
        } catch (RuntimeException e) {
            failed(e.getMessage(), e);
        }
    }

    private void failed(String why, RuntimeException trace) {
        if (!failing) {
            failing = true;
            LOG.warn("The figures of worker {} can't be published: {}", directory.info(), why, trace);
        }
    }

    private WorkerMetrics figures(Map<String, Long> steady) {
        Map<String, Long> all = new HashMap<>(steady);
        for (Map.Entry<String, Long> figure : host.processes().jvmFigures().entrySet()) {
            all.put("jvm." + figure.getKey(), figure.getValue());
        }
        List<OperationMetrics> served = counters.served().read();
        all.put("requests.in-flight", sum(served, OperationMetrics::inFlight));
        all.put("requests.parked", sum(served, OperationMetrics::parked));
        WorkerInfo self = directory.info();
        return new WorkerMetrics(
                self,
                directory.epoch(),
                directory.record().process().pid(),
                directory.record().joinedAtMs(),
                TimeUnit.NANOSECONDS.toMillis(host.clock().wallNs()),
                served,
                counters.called().read(),
                all);
    }

    private static long sum(List<OperationMetrics> operations, ToLongFunction<OperationMetrics> of) {
        return operations.stream().mapToLong(of).sum();
    }

    private Map<Integer, Long> unread() {
        Map<Integer, Long> unread = new HashMap<>();
        for (PeerLink link : links.current()) {
            try {
                long requests = link.flow().unread();
                if (requests > 0 && link.condition() == PeerLink.Condition.OPEN) {
                    unread.merge(link.id(), requests, Long::sum);
                }
            } catch (InternalError e) { // a fault in the peer's cursors, which its link finds by itself
                LOG.debug("The cursors of worker {} can't be read", link, e);
            }
        }
        return unread;
    }

    @Override
    public void onClose() {
        publish();
    }

    /** Ends the thread, and waits until it has published for the last time. */
    @Override
    public void close() {
        AgentThread running = thread;
        if (running != null) {
            running.close();
        }
    }
}
