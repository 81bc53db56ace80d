package io.waybill.worker.upkeep;

import io.waybill.home.error.HomeException;
import io.waybill.journal.JournalFullException;
import io.waybill.journal.LostFileException;
import io.waybill.journal.append.Journal;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps a worker's own two queues writable: reserves space and loads pages ahead of the writers, publishes the low
 * watermarks, and finds damage.
 *
 * <p><b>Threads.</b> The housekeeper's.
 */
public final class JournalUpkeep {

    private static final Logger LOG = LoggerFactory.getLogger(JournalUpkeep.class);

    private final Journal requests;
    private final Journal responses;
    private final OwnQueues own;
    private final LowWatermarks finished;
    private final PageToucher requestPages;
    private final PageToucher responsePages;
    private boolean diskFull;
    private long writtenBefore;

    public JournalUpkeep(UpkeepContext context, OwnQueues own, LowWatermarks finished) {
        this.requests = context.requests().journal();
        this.responses = context.responses().journal();
        this.own = own;
        this.finished = finished;
        this.requestPages = new PageToucher(requests, context.host().calls());
        this.responsePages = new PageToucher(responses, context.host().calls());
    }

    /** Returns the number of bytes that were written since the last call; less than 0 when a file was left. */
    long grown() {
        long written = requests.writtenTo() + responses.writtenTo();
        long grown = written - writtenBefore;
        writtenBefore = written;
        return grown;
    }

    /** Returns whether space was refused at the last turn. */
    boolean isDiskFull() {
        return diskFull;
    }

    /**
     * Throws when the queues can't be written any more.
     *
     * @throws HomeException which names the damage or loss
     */
    void requireWhole() throws HomeException {
        String damage = requests.damage().isEmpty() ? responses.damage() : requests.damage();
        try {
            own.turn(); // in any case: it notes the ends of the queues
        } catch (LostFileException e) {
            if (damage.isEmpty()) {
                throw new HomeException("one of its files is lost: " + e.getMessage(), e);
            }
        }
        if (!damage.isEmpty()) {
            throw new HomeException(damage);
        }
    }

    /** Reserves space ahead of the writers. */
    void topUp() {
        // the responses first: they complete calls of others
        boolean full = !topUp(responses);
        full |= !topUp(requests);
        if (diskFull && !full) {
            LOG.info("There is room on the journal's disk again");
        }
        diskFull = full;
    }

    private boolean topUp(Journal journal) {
        try {
            journal.topUp();
            return true;
        } catch (JournalFullException e) {
            if (!diskFull) {
                diskFull = true;
                LOG.error("The journal's disk is full: new calls are refused until there is room: {}", e.getMessage());
            }
            return false;
        }
    }

    /** Publishes the low watermarks of completed requests, and loads the pages that are written next. */
    void prepare() {
        finished.update();
        requestPages.touch();
        responsePages.touch();
    }
}
