package io.waybill.journal.index;

import io.waybill.api.MessageId;
import io.waybill.journal.RecordPosition;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Positions of the records of one queue that are neither in the index nor in memory: the queue in blocks of equal
 * numbers of records, each with the ranges of the ids in it. A lookup reads the blocks that may contain its id. A
 * sender assigns its ids in ascending order, so that is one block of its requests, and a few of the responses to it.
 *
 * <p><b>Threads.</b> One at a time. <b>Memory.</b> Some 100 bytes for each block.
 */
final class PassedRecords {

    /** Number of records in a block, which are read in some 60 us. */
    static final int BLOCK = 1_024;
    /** Max number of senders of a block; a block with more may contain any id. */
    private static final int MAX_SENDERS = 16;

    /**
     * Block of consecutive records.
     *
     * @param begin position of the first one
     * @param senders senders of the ids, none twice; empty for any id
     */
    record Block(RecordPosition begin, int[] senders, long[] least, long[] greatest) {

        boolean mayContain(long id) {
            int sender = MessageId.worker(id);
            for (int i = 0; i < senders.length; i++) {
                if (senders[i] == sender) {
                    return least[i] <= MessageId.counter(id) && MessageId.counter(id) <= greatest[i];
                }
            }
            return senders.length == 0;
        }
    }

    private final List<Block> blocks = new ArrayList<>();
    // of the block that is being filled
    private RecordPosition begin; // null while it is empty
    private int records;
    private int senders;
    private final int[] sender = new int[MAX_SENDERS];
    private final long[] least = new long[MAX_SENDERS];
    private final long[] greatest = new long[MAX_SENDERS];

    /** Adds the next record of the queue. */
    void add(long id, RecordPosition position) {
        if (begin == null) {
            begin = position;
            records = 0;
            senders = 0;
        }
        include(MessageId.worker(id), MessageId.counter(id));
        records++;
        if (records == BLOCK) {
            blocks.add(filled());
            begin = null;
        }
    }

    private Block filled() {
        int known = senders > MAX_SENDERS ? 0 : senders;
        return new Block(
                begin, Arrays.copyOf(sender, known), Arrays.copyOf(least, known), Arrays.copyOf(greatest, known));
    }

    private void include(int worker, long counter) {
        int known = Math.min(senders, MAX_SENDERS);
        for (int i = 0; i < known; i++) {
            if (sender[i] == worker) {
                least[i] = Math.min(least[i], counter);
                greatest[i] = Math.max(greatest[i], counter);
                return;
            }
        }
        if (senders < MAX_SENDERS) {
            sender[senders] = worker;
            least[senders] = counter;
            greatest[senders] = counter;
        }
        senders = Math.min(senders + 1, MAX_SENDERS + 1);
    }

    /** Returns the blocks that may contain this id, the newest first. */
    List<Block> blocksWith(long id) {
        List<Block> found = new ArrayList<>();
        if (begin != null && filled().mayContain(id)) {
            found.add(filled());
        }
        for (int i = blocks.size() - 1; i >= 0; i--) {
            if (blocks.get(i).mayContain(id)) {
                found.add(blocks.get(i));
            }
        }
        return found;
    }

    /** Returns the number of all records that were added. */
    long size() {
        return (long) blocks.size() * BLOCK + (begin == null ? 0 : records);
    }

    void clear() {
        blocks.clear();
        begin = null;
    }
}
