package io.waybill.worker.reference;

import io.waybill.api.RRef;
import io.waybill.rref.id.ForkData;
import io.waybill.rref.id.ForkTable;
import io.waybill.rref.status.Holder;
import io.waybill.wire.Envelope;
import io.waybill.wire.MessageBuffer;
import io.waybill.worker.peer.PeerLink;
import java.util.ArrayList;
import java.util.List;

/**
 * The references of one message that is being sent: a fork of each for the receiver, and behind them the reference to what a request
 * creates.
 *
 * <p>Belongs to the thread that sends.
 */
public final class SentReferences {

    /** Makes the reference to what a request creates, once it is known which incarnation of which worker will own it. */
    @FunctionalInterface
    public interface Creation {
        ForkData begin(Holder owner);
    }

    private final List<ReferenceHandle> shared = new ArrayList<>();
    private final List<ForkData> forks = new ArrayList<>();
    private byte[] table;

    private SentReferences() {}

    /** @param creation null when the message creates nothing */
    public static SentReferences of(List<? extends RRef> references, PeerLink link, Creation creation) {
        SentReferences sharing = new SentReferences();
        try {
            sharing.fork(references, WorkerReferences.holder(link), creation);
            return sharing;
        } catch (RuntimeException e) {
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
            all.add(creation.begin(to));
        }
        table = ForkTable.encode(all);
    }

    public int length() {
        return table.length;
    }

    /** Puts the references behind the payload of a record that was begun with room for them. */
    public void write(MessageBuffer record, int payloadLength) {
        record.addFlag(Envelope.REFERENCES).memory().putBytes(Envelope.HEADER_LENGTH + payloadLength, table);
    }

    /** The message was not sent. */
    public void abandon() {
        for (int i = 0; i < shared.size(); i++) {
            shared.get(i).abandon(forks.get(i));
        }
        shared.clear();
    }
}
