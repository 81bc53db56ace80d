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
 * <p><b>Threads.</b> One thread starts and closes it; each node has its own thread. <b>Ownership.</b> Its creator
 * closes it, which stops the nodes.
 */
public final class Supervisor implements AutoCloseable {

    /** Max time for nodes to stop: a node stops by itself within 60 s in any state. */
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

    /** Factory of a node's processes. */
    @FunctionalInterface
    public interface Processes {
        ProcessBuilder of(NodePlan plan);
    }

    /**
     * Starts all nodes.
     *
     * @param allEnded runs on another thread when no node will be restarted
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

    /** Returns whether any node runs or will be restarted. */
    public boolean isAnyLeft() {
        return left.get() > 0;
    }

    /** Returns how many nodes are not restarted because they were started wrongly. */
    public long givenUp() {
        return nodes.stream().filter(SupervisedNode::isGivenUp).count();
    }

    /** Stops all nodes, waits for them, and kills those that exceed the limit. */
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
