package io.waybill.worker.reference;

import io.waybill.api.RRef;
import io.waybill.host.failure.CloseSteps;
import io.waybill.rref.id.ForkData;
import io.waybill.rref.id.ForkTable;
import io.waybill.rref.status.Holder;
import io.waybill.tensor.Plan;
import io.waybill.wire.Envelope;
import io.waybill.wire.MessageBuffer;
import io.waybill.worker.peer.PeerLink;
import java.util.ArrayList;
import java.util.List;

/**
 * References of one message that is being sent: a fork of each for the receiver, and after them the reference to the
 * value that a request creates.
 *
 * <p>Belongs to the thread that sends.
 */
public final class SentReferences {

    /** Factory of the reference to the value that a request creates, called when the owner's incarnation is known. */
    @FunctionalInterface
    public interface Creation {
        ForkData begin(Holder owner);
    }

    private final List<ReferenceHandle> shared = new ArrayList<>();
    private final List<ForkData> forks = new ArrayList<>();
    private byte[] table;
    private boolean creates;

    private SentReferences() {}

    /**
     * Creates the forks of a message's references.
     *
     * @param creation null when the message creates no value
     */
    public static SentReferences of(List<? extends RRef> references, PeerLink link, Creation creation) {
        SentReferences sharing = new SentReferences();
        try {
            sharing.fork(references, WorkerReferences.holder(link), creation);
            return sharing;
        } catch (RuntimeException | Error e) {
            sharing.abandon();
            throw e;
        }
    }

    private void fork(List<? extends RRef> references, Holder to, Creation creation) {
        for (RRef reference : references) {
            ReferenceHandle held = ReferenceHandle.own(reference);
            forks.add(held.fork(to));
            shared.add(held);
        }
        List<ForkData> all = new ArrayList<>(forks);
        if (creation != null) {
            creates = true;
            all.add(creation.begin(to));
        }
        table = ForkTable.encode(all);
    }

    public int length() {
        return table.length;
    }

    /** Writes the references after the payload of a record that was begun with room for them. */
    public void write(MessageBuffer record, int payloadLength) {
        boolean isAround = creates && !record.type().isCreating(); // an interceptor wrapped it
        record.addFlag(isAround ? Envelope.REFERENCES | Envelope.CREATES : Envelope.REFERENCES)
                .memory()
                .putBytes(Envelope.HEADER_LENGTH + payloadLength, table);
    }

    /** Releases the references and tensors that were prepared for a message that was not published; null for none. */
    public static void takeBack(SentReferences sharing, Plan plan) {
        try {
            if (sharing != null) {
                sharing.abandon();
            }
        } finally {
            if (plan != null) {
                plan.abandoned();
            }
        }
    }

    /** Releases the forks of a message that was not sent: each of them, and then throws the first failure. */
    public void abandon() {
        CloseSteps steps = new CloseSteps();
        for (int i = 0; i < shared.size(); i++) {
            int number = i;
            steps.attempt(() -> shared.get(number).abandon(forks.get(number)));
        }
        steps.attempt(shared::clear).finishUnchecked();
    }
}
