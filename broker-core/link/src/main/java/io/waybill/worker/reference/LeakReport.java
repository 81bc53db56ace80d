package io.waybill.worker.reference;

import io.waybill.rref.status.ReferenceStatus;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Logs the references that were not released when their worker closed, with the worker at the other end. For the thread
 * that closes.
 */
final class LeakReport {

    private static final Logger LOG = LoggerFactory.getLogger(LeakReport.class);
    private static final int MAX_LINES = 100;

    private int found;

    /**
     * Adds a leaked reference.
     *
     * @param peer the worker at the other end, as {@link ReferenceStatus#peer} describes it
     */
    void add(ReferenceStatus leaked, String peer) {
        if (found++ < MAX_LINES) {
            LOG.warn(text(leaked, peer));
        }
    }

    private static String text(ReferenceStatus leaked, String peer) {
        String start = "Leaking RRef " + leaked.rref() + " with fork Id " + leaked.fork();
        return switch (leaked.part()) {
            case OWNS -> start + ", which " + peer + " has: its value goes with this worker";
            case HOLDS ->
                start + ", which this worker has, with " + leaked.handles() + " handles open: its value is at " + peer;
            case PASSES -> start + ", which this worker made for " + peer + " and has not heard of";
        };
    }

    /** Writes the summary after the last reference. */
    void end() {
        if (found > MAX_LINES) {
            LOG.warn("{} more references were not given back", found - MAX_LINES);
        }
    }
}
