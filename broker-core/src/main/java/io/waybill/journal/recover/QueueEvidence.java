package io.waybill.journal.recover;

import java.nio.file.Path;
import java.util.List;

/**
 * What is known of a worker's queue beside its files: how far it was written, as the worker itself noted and as its peers have read it.
 * When files were lost, this tells what must not be used a second time. All of it is claims, which a damaged file can make wrong.
 * Immutable.
 *
 * @param nextCounter above the counters of all message ids that the worker gave, as it noted; 0 when unknown
 * @param oldestCycle the number of the oldest file that retention left; -1 when unknown
 * @param responses of the peers: the ids in them prove that they were given. Empty where the queue gives no ids
 * @param workerId whose queue it is
 */
public record QueueEvidence(List<Claim> claims, long nextCounter, int oldestCycle, List<Path> responses, int workerId) {

    /** Nothing is known. */
    public static final QueueEvidence NONE = new QueueEvidence(List.of(), 0, -1, List.of(), 0);

    /**
     * How far the queue was written.
     *
     * @param witness who says so, for people
     * @param endIndex behind a record that was there
     * @param nextSequence above the sequence of that record; 0 when unknown
     */
    public record Claim(String witness, long endIndex, long nextSequence) {}
}
