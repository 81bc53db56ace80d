package io.waybill.worker.reference;

import io.waybill.api.CallException;
import io.waybill.api.RejectedMessageException;
import io.waybill.rref.Arrival;
import io.waybill.rref.Reference;
import io.waybill.rref.id.ForkData;
import io.waybill.rref.id.ForkTable;
import io.waybill.rref.status.Holder;
import io.waybill.wire.RecordView;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * References among the values of a record that was read.
 *
 * <p><b>Threads.</b> Any. <b>Ownership.</b> One handle of each, until {@link #release}.
 */
public final class ReceivedReferences {

    private static final ReceivedReferences NONE = new ReceivedReferences(null, null);

    private final WorkerReferences home;
    private final Arrival arrival; // null without references
    private final List<ReferenceHandle> held;

    private ReceivedReferences(WorkerReferences home, Arrival arrival) {
        this.home = home;
        this.arrival = arrival;
        this.held = arrival == null
                ? List.of()
                : arrival.references().stream().map(this::leased).toList();
    }

    private ReferenceHandle leased(Reference reference) {
        return new ReferenceHandle(home, reference, ReferenceHandle.Holding.LEASED);
    }

    /** Returns the empty list for a record without references. */
    public static ReceivedReferences none() {
        return NONE;
    }

    /** Decodes the references of a record; references that are not {@linkplain #take taken} must be declined. */
    public static List<ForkData> table(RecordView record) throws RejectedMessageException {
        return record.hasReferences() ? ForkTable.decode(record.copyReferences()) : List.of();
    }

    /**
     * Takes a handle of each reference.
     *
     * @throws RejectedMessageException when this worker closes
     */
    public static ReceivedReferences take(WorkerReferences home, List<ForkData> table, Holder from)
            throws RejectedMessageException {
        try {
            return new ReceivedReferences(home, home.references().forks().arrive(table, from));
        } catch (CallException e) {
            throw new RejectedMessageException(e.code(), e.getMessage(), e);
        }
    }

    public static void decline(WorkerReferences home, List<ForkData> table, Holder from) {
        for (ForkData each : table) {
            home.references().forks().decline(each, from);
        }
    }

    /** Returns the handles, which end with this object. */
    public List<ReferenceHandle> held() {
        return held;
    }

    public boolean isReady() {
        return held.isEmpty() || home.references().forks().isReady(arrival);
    }

    public void whenReady(Consumer<Optional<CallException>> notified) {
        home.references().forks().whenReady(arrival, notified);
    }

    /** Releases the handles. Idempotent. */
    public void release() {
        if (!held.isEmpty()) {
            home.references().forks().release(arrival);
        }
    }
}
