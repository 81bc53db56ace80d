package io.waybill.rref;

import io.waybill.rref.status.Holder;
import io.waybill.rref.status.ReferenceListener;

/**
 * Reactions of the references to other workers that join and end.
 *
 * <p><b>Threads.</b> Guarded by the {@link Gate}; the listener is called without it.
 */
final class Peers {

    private final Gate gate;
    private final Alarms alarms;
    private final Incarnations incarnations;
    private final ControlSends sends;
    private final Owners owners;
    private final Users users;
    private final long graceNs;
    private final ReferenceListener listener;

    Peers(
            Gate gate,
            Alarms alarms,
            Incarnations incarnations,
            ControlSends sends,
            Owners owners,
            Users users,
            long graceNs,
            ReferenceListener listener) {
        this.gate = gate;
        this.alarms = alarms;
        this.incarnations = incarnations;
        this.sends = sends;
        this.owners = owners;
        this.users = users;
        this.graceNs = graceNs;
        this.listener = listener;
    }

    /** Notes a message from an incarnation: it shows that the incarnation is there, even before it was announced. */
    void meet(Holder incarnation) {
        if (incarnations.endsAnother(incarnation)) {
            lost(new Holder(incarnation.worker(), incarnation.epoch() - 1));
        }
        if (incarnations.meet(incarnation)) {
            users.ownerReturned(incarnation.worker());
        }
    }

    void lost(Holder dead) {
        incarnations.lost(dead);
        sends.drop(dead);
        users.ownerLost(dead);
        releaseLater(dead);
    }

    /**
     * Notes that a fork was made for an incarnation: when that has ended already, its forks go like those of any dead
     * one.
     */
    void shared(Holder to) {
        if (incarnations.isOver(to)) {
            releaseLater(to);
        }
    }

    private void releaseLater(Holder dead) {
        alarms.in(graceNs, () -> {
            users.release(dead);
            int forks = owners.release(dead);
            if (forks > 0) {
                gate.later(() -> listener.onReleasedForDead(dead, forks));
            }
        });
    }
}
