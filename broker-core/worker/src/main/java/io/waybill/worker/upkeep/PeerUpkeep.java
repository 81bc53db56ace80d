package io.waybill.worker.upkeep;

import io.waybill.broker.Brokers;
import io.waybill.host.ChangeWatch;
import io.waybill.worker.peer.Links;
import io.waybill.worker.peer.PeerLink;
import io.waybill.worker.peer.TensorTransit;
import io.waybill.worker.poll.FaultAlarm;
import java.io.IOException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Finds peers that join and leave, and files of theirs that were truncated.
 *
 * <p><b>Threads.</b> The housekeeper's. <b>Ownership.</b> Its creator keeps {@code changes}, and closes it with the
 * housekeeper.
 */
public final class PeerUpkeep {

    private static final Logger LOG = LoggerFactory.getLogger(PeerUpkeep.class);

    private final Links links;
    private final FaultAlarm faults;
    private final ChangeWatch changes;
    private final Brokers brokers;
    private final TensorTransit transit;
    private boolean unreadable; // the home

    /** @param changes of the home's workers, which end the housekeeper's wait */
    public PeerUpkeep(UpkeepContext context, ChangeWatch changes, Brokers brokers, TensorTransit transit) {
        this.links = context.links();
        this.faults = context.faults();
        this.changes = changes;
        this.brokers = brokers;
        this.transit = transit;
    }

    ChangeWatch changes() {
        return changes;
    }

    /** Checks the home. An unreadable home may become readable again. */
    void look() {
        try {
            links.refresh();
            unreadable = false;
            brokers.look();
            transit.look();
        } catch (IOException | RuntimeException e) {
            if (!unreadable) {
                unreadable = true;
                LOG.error("The home can't be read; workers that come and go are not seen", e);
            }
        }
    }

    /** Returns whether the last check of the home failed. */
    boolean isUnreadable() {
        return unreadable;
    }

    /** Raises the alarm when a file that is mapped here was truncated. It may appear as a file that ends there. */
    void lookAtFiles() {
        for (PeerLink link : links.current()) {
            if (link.isCutNow()) {
                faults.raise();
                return;
            }
        }
    }
}
