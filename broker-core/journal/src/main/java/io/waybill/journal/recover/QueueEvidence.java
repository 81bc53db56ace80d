package io.waybill.journal.recover;

import java.nio.file.Path;
import java.util.List;

/**
 * Evidence of the extent to which a worker's queue was written, apart from its files: the worker's own notes and the
 * positions of its peers. After files were lost, it shows which ids must not be used again. These are claims, which a
 * damaged file can falsify. Immutable.
 *
 * @param nextCounter value above the counters of all message ids that the worker assigned, as it noted; 0 when unknown
 * @param oldestCycle number of the oldest file that retention left; -1 when unknown
 * @param responses response queues of the peers: the ids in them prove that they were assigned. Empty where the queue
 * assigns no ids
 * @param workerId owner of the queue
 */
public record QueueEvidence(List<Claim> claims, long nextCounter, int oldestCycle, List<Path> responses, int workerId) {

    /** Empty evidence. */
    public static final QueueEvidence NONE = new QueueEvidence(List.of(), 0, -1, List.of(), 0);

    /**
     * Claim of the extent to which the queue was written.
     *
     * @param witness source of the claim, for messages
     * @param endIndex index after a record that existed
     * @param nextSequence value above the sequence of that record; 0 when unknown
     */
    public record Claim(String witness, long endIndex, long nextSequence) {}
}
