package io.waybill.worker.peer;

import io.waybill.home.Members;
import io.waybill.home.Peer;
import io.waybill.home.PeerState;
import io.waybill.home.cursor.Cursors;
import io.waybill.home.cursor.PeerCursorSlot;
import io.waybill.home.error.HomeException;
import io.waybill.home.error.MalformedHomeFileException;
import io.waybill.tensor.LeaseReturns;
import io.waybill.tensor.segment.LeaseSink;
import io.waybill.tensor.segment.Leases;
import io.waybill.tensor.segment.ReleasedLeases;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Leases of segment regions, as recorded in the cursors: this worker writes its releases to its own cursors, and reads
 * the releases of peers from the cursors of these.
 *
 * <p><b>Threads.</b> Thread-safe.
 */
final class LeaseLedger implements LeaseReturns, ReleasedLeases {

    private static final Logger LOG = LoggerFactory.getLogger(LeaseLedger.class);

    private final Cursors own;
    private final Map<Integer, Account> accounts = new ConcurrentHashMap<>();
    private final Set<Integer> withoutSlot = ConcurrentHashMap.newKeySet(); // peers that were logged
    private boolean closed; // guarded by own

    /** Position up to which one receiver's releases were read. */
    private static final class Account {
        private volatile PeerLink link; // another one when the first was left as unreadable, and its receiver lives on
        private PeerCursorSlot slot;
        private long seen;
        private boolean wrong;

        Account(PeerLink link) {
            this.link = link;
        }
    }

    LeaseLedger(Cursors own) {
        this.own = own;
    }

    /**
     * Starts the account of a peer, with nothing leased; or continues it, when this incarnation has one.
     *
     * @return whether there was an account of an earlier incarnation, whose leases have ended
     */
    boolean open(PeerLink link) {
        PeerCursorSlot slot = link.flow().readSlot();
        Account before = accounts.get(link.id());
        if (before != null && before.link.epoch() == link.epoch()) {
            synchronized (before) {
                before.link = link;
                before.slot = slot;
            }
            return false;
        }
        Account account = new Account(link);
        account.slot = slot;
        account.seen = slot == null ? 0 : slot.releasedCount();
        accounts.put(link.id(), account);
        return before != null;
    }

    /** Returns the receivers that have ended after their links were left as unreadable, each once. */
    List<Integer> takeEnded(Members members) {
        List<Integer> ended = new ArrayList<>();
        for (Account account : accounts.values()) {
            PeerLink link = account.link;
            if (link.condition() == PeerLink.Condition.UNREADABLE
                    && members.find(link.id())
                            .filter(peer -> mayBe(peer, link.epoch()))
                            .isEmpty()) {
                accounts.remove(link.id());
                ended.add(link.id());
            }
        }
        return ended;
    }

    /** Removes a receiver that has ended, and with it the mapping of its cursors. */
    void ended(PeerLink link) {
        accounts.computeIfPresent(link.id(), (id, account) -> account.link == link ? null : account);
    }

    /** Returns whether a worker may be this incarnation, alive. */
    private static boolean mayBe(Peer peer, long epoch) {
        return peer.state() == PeerState.UNREADABLE || peer.state().isThere() && peer.epoch() == epoch;
    }

    @Override
    public void released(int sender, long leaseId) {
        try {
            synchronized (own) { // no later incarnation of this worker writes there yet
                if (!closed) {
                    own.slot(sender).releaseLease(leaseId);
                }
            }
        } catch (HomeException e) {
            // does not fail the releasing thread; the lease ends with this process
            if (withoutSlot.add(sender)) {
                LOG.error(
                        "Worker {} is not told which of its segments' regions are released: it leased them to this one, whose"
                                + " cursors have no slot for it",
                        sender,
                        e);
            }
        }
    }

    /**
     * Ends the accounts: the senders already have the regions that are released from now on, as this worker has ended.
     */
    void close() {
        synchronized (own) {
            closed = true;
        }
    }

    @Override
    public String name(int receiver) {
        Account account = accounts.get(receiver);
        return account == null ? ReleasedLeases.super.name(receiver) : account.link.toString();
    }

    @Override
    public void poll(int receiver, LeaseSink sink) {
        Account account = accounts.get(receiver);
        if (account == null) {
            return;
        }
        synchronized (account) {
            if (account.link.hasCutCursors()) { // they stay open until the receiver has ended, or is linked to again
                return;
            }
            if (account.slot == null) {
                account.slot = account.link.flow().readSlot();
                if (account.slot == null) {
                    return;
                }
            }
            try {
                account.seen = account.slot.takeReleases(
                        account.seen, Leases.MAX_OUTSTANDING, leaseId -> sink.released(receiver, leaseId));
            } catch (MalformedHomeFileException e) {
                if (!account.wrong) {
                    account.wrong = true;
                    LOG.error("Worker {} does not keep account of its leases: they stay open", account.link, e);
                }
            }
        }
    }
}
