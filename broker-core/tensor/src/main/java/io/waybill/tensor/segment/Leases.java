package io.waybill.tensor.segment;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.ErrorKind;
import io.waybill.api.MessageId;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.agrona.collections.Int2ObjectHashMap;
import org.agrona.collections.Long2ObjectHashMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Table of this worker's leases and their receivers. Claims of a receiver to have released a lease are checked against
 * it.
 *
 * <p><b>Threads.</b> Thread-safe. Its lock is taken before the {@link SegmentPool}'s, never after.
 */
public final class Leases implements LeaseSink {

    private static final Logger LOG = LoggerFactory.getLogger(Leases.class);

    /** Max leases of one receiver: the size of its ring of released leases, so that the ring can't overflow. */
    public static final int MAX_OUTSTANDING = 256;

    /** Min leases before released ones are read: a read costs a cache miss or two, and serves many leases at once. */
    private static final int POLLED_FROM = 32;

    /**
     * Min bytes of memory that are taken before released leases are read: this size stays in a processor's own cache.
     */
    private static final long POLLED_FROM_BYTES = 256 << 10;

    private static final int HOLDERS_NAMED = 3;

    private final ReleasedLeases released;
    private final StorageReleases releases;
    private final Int2ObjectHashMap<Long2ObjectHashMap<Lease>> byReceiver = new Int2ObjectHashMap<>();
    /** Leases of receivers that have ended, while processes that took part in their name use them. */
    private final List<Lease> usedStill = new ArrayList<>();

    private long nextId;
    private long outstanding;
    private long takes; // number of takes of memory since released leases were read
    private long takenBytes; // bytes of these takes
    private long sharing; // number of standing leases with device memory
    private long wrongClaims;
    private boolean ended;

    Leases(long firstId, ReleasedLeases released, StorageReleases releases) {
        this.nextId = firstId;
        this.released = released;
        this.releases = releases;
    }

    /**
     * Opens leases to a receiver. They are planned: {@link #stand} or {@link #cancel} follows.
     *
     * @throws CallException {@link ErrorCode#BACK_PRESSURE} when the receiver has too many that it did not release
     */
    public synchronized void open(int receiver, int count, List<Lease> opened) {
        Long2ObjectHashMap<Lease> its = byReceiver.computeIfAbsent(receiver, key -> new Long2ObjectHashMap<>());
        if (its.size() >= POLLED_FROM || sharing > 0) { // device memory is scarce
            released.poll(receiver, this);
        }
        if (its.size() + count > MAX_OUTSTANDING) {
            throw new CallException(
                    ErrorKind.UNKNOWN_ERROR,
                    ErrorCode.BACK_PRESSURE,
                    MessageId.NONE,
                    "worker " + released.name(receiver) + " uses " + its.size()
                            + " leases of tensor memory and may use " + MAX_OUTSTANDING + "; this message needs "
                            + count);
        }
        for (int i = 0; i < count; i++) {
            Lease lease = new Lease(nextId++, receiver, releases);
            its.put(lease.id(), lease);
            opened.add(lease);
        }
        outstanding += count;
    }

    /** Notes that the message is in the journal. */
    public synchronized void stand(Lease lease) {
        if (lease.state() == Lease.State.RETURNED_EARLY) {
            lease.end();
        } else if (lease.state() == Lease.State.ABANDONED_EARLY) {
            endUnused(lease);
        } else if (ended) {
            forget(lease);
            lease.abandon();
        } else {
            lease.state(Lease.State.STANDING);
            sharing += lease.isShared() ? 1 : 0;
        }
    }

    /** Cancels the lease of a message that was not appended to the journal. */
    public synchronized void cancel(Lease lease) {
        if (lease.state() == Lease.State.PLANNED) {
            forget(lease);
        }
        lease.end();
    }

    @Override
    public synchronized void released(int receiver, long leaseId) {
        Long2ObjectHashMap<Lease> its = byReceiver.get(receiver);
        Lease lease = its == null ? null : its.get(leaseId);
        if (lease == null) {
            wrongClaims++;
            return;
        }
        finish(lease);
    }

    private void finish(Lease lease) {
        forget(lease);
        if (lease.state() == Lease.State.PLANNED) {
            lease.state(Lease.State.RETURNED_EARLY);
        } else {
            sharing -= lease.isShared() ? 1 : 0;
            lease.end();
        }
    }

    /** Notes that the receiver of this lease has ended. */
    private void abandoned(Lease lease) {
        forget(lease);
        if (lease.state() == Lease.State.PLANNED) {
            lease.state(Lease.State.ABANDONED_EARLY);
        } else {
            sharing -= lease.isShared() ? 1 : 0;
            endUnused(lease);
        }
    }

    /** Ends a lease when no process uses its regions: later if one does. */
    private void endUnused(Lease lease) {
        if (!ended && lease.isUsedStill()) {
            usedStill.add(lease);
            outstanding++;
        } else {
            lease.end();
        }
    }

    private void endUnused() {
        usedStill.removeIf(lease -> {
            boolean free = ended || !lease.isUsedStill();
            if (free) {
                outstanding--;
                lease.end();
            }
            return free;
        });
    }

    private void forget(Lease lease) {
        byReceiver.get(lease.receiver()).remove(lease.id());
        outstanding--;
    }

    /**
     * Ends all leases of a receiver that has ended, except leases used by a process that took part in its name: these
     * end when that process has released them.
     */
    public synchronized void receiverGone(int receiver) {
        Long2ObjectHashMap<Lease> its = byReceiver.get(receiver);
        if (its != null) {
            for (Lease lease : new ArrayList<>(its.values())) {
                abandoned(lease);
            }
            byReceiver.remove(receiver);
        }
    }

    /**
     * Ends all leases: released leases are not read any more. Leases of a message that is being written end after the
     * write. Device memory that receivers may still use is never released.
     */
    synchronized void endAll() {
        ended = true;
        int abandoned = 0;
        for (Long2ObjectHashMap<Lease> its : byReceiver.values()) {
            for (Lease lease : its.values()) {
                if (lease.state() == Lease.State.STANDING && lease.isShared()) {
                    sharing--;
                    abandoned += lease.abandon();
                }
            }
        }
        for (int receiver :
                byReceiver.keySet().stream().mapToInt(Integer::intValue).toArray()) {
            receiverGone(receiver);
        }
        endUnused(); // the files are removed, and not used again
        if (abandoned > 0) {
            LOG.warn(
                    "{} storages on devices stay allocated until this process ends: receivers may still use them",
                    abandoned);
        }
    }

    /** Returns whether receivers use device memory that was shared with them. */
    public synchronized boolean areShared() {
        return sharing > 0;
    }

    /**
     * Reads released leases when enough memory was taken since the last time. Called before memory is taken: for a
     * region that is not known to be free its sender takes another one, which no processor has in its caches. Costs no
     * more than two reads each time, regardless of the number of receivers.
     */
    synchronized void pollBeforeTaking(long bytes) {
        takes++;
        takenBytes += bytes;
        if (takenBytes >= POLLED_FROM_BYTES && 2 * takes >= outstanding) {
            pollReleased();
        }
    }

    public synchronized void pollAll() {
        endUnused();
        pollReleased();
    }

    private void pollReleased() {
        takes = 0;
        takenBytes = 0;
        byReceiver.forEach((receiver, its) -> {
            if (!its.isEmpty()) {
                released.poll(receiver, this);
            }
        });
    }

    /**
     * Returns the holders of memory with their sizes, for an error, the largest first: text that begins with a comma,
     * or none.
     */
    synchronized String holders() {
        List<Holder> holders = new ArrayList<>();
        byReceiver.forEach((receiver, its) -> {
            int standing = 0;
            long bytes = 0;
            for (Lease lease : its.values()) {
                if (lease.state() == Lease.State.STANDING) { // the regions of other leases belong to their thread
                    standing++;
                    bytes += lease.bytes();
                }
            }
            if (standing > 0) {
                holders.add(new Holder(receiver, standing, bytes));
            }
        });
        for (Lease lease : usedStill) {
            holders.add(new Holder(lease.receiver(), 1, lease.bytes()));
        }
        holders.sort(Comparator.comparingLong(Holder::bytes).reversed());
        StringBuilder text = new StringBuilder();
        for (Holder each : holders.subList(0, Math.min(HOLDERS_NAMED, holders.size()))) {
            text.append(", ").append(each.bytes()).append(" by worker ").append(released.name(each.receiver()));
            text.append(" with ").append(each.leases()).append(each.leases() == 1 ? " lease" : " leases");
        }
        if (holders.size() > HOLDERS_NAMED) {
            text.append(", and others by ")
                    .append(holders.size() - HOLDERS_NAMED)
                    .append(" more");
        }
        return text.toString();
    }

    private record Holder(int receiver, int leases, long bytes) {}

    public synchronized long outstanding() {
        return outstanding;
    }

    public synchronized long wrongClaims() {
        return wrongClaims;
    }
}
