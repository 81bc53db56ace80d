package io.waybill.worker;

import io.waybill.api.RRef;
import io.waybill.rref.ForkData;
import io.waybill.rref.ForkTable;
import io.waybill.rref.Holder;
import io.waybill.wire.Envelope;
import io.waybill.wire.MessageBuffer;
import java.util.ArrayList;
import java.util.List;

/**
 * The references of one message that is being sent: a fork of each for the receiver, and behind them the reference to what a request
 * creates.
 *
 * <p>Belongs to the thread that sends.
 */
final class Sharing {

    /** Makes the reference to what a request creates, once it is known which incarnation of which worker will own it. */
    @FunctionalInterface
    interface Creation {
        ForkData begin(Holder owner);
    }

    private final List<HeldReference> shared = new ArrayList<>();
    private final List<ForkData> forks = new ArrayList<>();
    private byte[] table;

    private Sharing() {}

    /** @param creation null when the message creates nothing */
    static Sharing of(List<? extends RRef> references, PeerLink link, Creation creation) {
        Sharing sharing = new Sharing();
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
            HeldReference held = HeldReference.own(reference);
            forks.add(held.fork(to));
            shared.add(held);
        }
        List<ForkData> all = new ArrayList<>(forks);
        if (creation != null) {
            all.add(creation.begin(to));
        }
        table = ForkTable.encode(all);
    }

    int length() {
        return table.length;
    }

    /** Puts the references behind the payload of a record that was begun with room for them. */
    void write(MessageBuffer record, int payloadLength) {
        record.addFlag(Envelope.REFERENCES).memory().putBytes(Envelope.HEADER_LENGTH + payloadLength, table);
    }

    /** The message was not sent. */
    void abandon() {
        for (int i = 0; i < shared.size(); i++) {
            shared.get(i).abandon(forks.get(i));
        }
        shared.clear();
    }
}
