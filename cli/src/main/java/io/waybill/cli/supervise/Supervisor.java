package io.waybill.cli.supervise;

import io.waybill.host.Threads;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * All supervised nodes of a home.
 *
 * <p><b>Threads.</b> One starts and closes it; each node has a thread of its own. <b>Ownership.</b> Its maker closes it, which ends the
 * nodes.
 */
public final class Supervisor implements AutoCloseable {

    /** How long nodes may take to end: a node ends by itself within 60 s, whatever it waits for. */
    public static final Duration STOP_LIMIT = Duration.ofSeconds(65);

    private static final long KILL_LIMIT_NS = TimeUnit.SECONDS.toNanos(5);

    private final Threads threads;
    private final Duration stopLimit;
    private final List<SupervisedNode> nodes = new ArrayList<>();
    private final AtomicInteger left = new AtomicInteger();

    public Supervisor(Threads threads) {
        this(threads, STOP_LIMIT);
    }

    Supervisor(Threads threads, Duration stopLimit) {
        this.threads = threads;
        this.stopLimit = stopLimit;
    }

    /** Where a node's processes come from. */
    @FunctionalInterface
    public interface Processes {
        ProcessBuilder of(NodePlan plan);
    }

    /**
     * Starts all nodes.
     *
     * @param allEnded runs on another thread when none of them will be started again
     */
    public void start(NodesFile file, Processes processes, EventLines events, Runnable allEnded) {
        left.set(file.nodes().size());
        for (NodePlan plan : file.nodes()) {
            SupervisedNode node = new SupervisedNode(
                    plan.name(),
                    processes.of(plan),
                    file.restarts(),
                    threads,
                    events::accept,
                    line -> events.log(plan.name(), line));
            nodes.add(node);
            threads.start("waybill-up-" + plan.name(), () -> {
                node.run();
                if (left.decrementAndGet() == 0) {
                    allEnded.run();
                }
            });
        }
    }

    /** Whether any node runs, or will be started again. */
    public boolean isAnyLeft() {
        return left.get() > 0;
    }

    /** Returns how many nodes are not started again because they were started wrongly. */
    public long givenUp() {
        return nodes.stream().filter(SupervisedNode::isGivenUp).count();
    }

    /** Tells all nodes to stop, waits until they have, and kills what takes too long. */
    @Override
    public void close() {
        nodes.forEach(SupervisedNode::stop);
        long untilNs = System.nanoTime() + stopLimit.toNanos();
        try {
            for (SupervisedNode node : nodes) {
                if (!node.awaitEnd(untilNs - System.nanoTime())) {
                    node.kill(stopLimit);
                    node.awaitEnd(KILL_LIMIT_NS);
                }
            }
        } catch (InterruptedException e) {
            nodes.forEach(node -> node.kill(Duration.ZERO));
            Thread.currentThread().interrupt();
        }
    }
}
