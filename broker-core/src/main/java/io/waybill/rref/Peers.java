package io.waybill.rref;

/**
 * What follows from other workers' coming and going.
 *
 * <p><b>Threads.</b> Guarded by the {@link Gate}; the listener is called without it.
 */
final class Peers {

    private final Gate gate;
    private final Alarms alarms;
    private final Lives lives;
    private final ControlSends sends;
    private final Owners owners;
    private final Users users;
    private final long graceNs;
    private final ReferenceListener listener;

    Peers(
            Gate gate,
            Alarms alarms,
            Lives lives,
            ControlSends sends,
            Owners owners,
            Users users,
            long graceNs,
            ReferenceListener listener) {
        this.gate = gate;
        this.alarms = alarms;
        this.lives = lives;
        this.sends = sends;
        this.owners = owners;
        this.users = users;
        this.graceNs = graceNs;
        this.listener = listener;
    }

    /** Whatever comes from a life says that it is there, though nobody has told so before. */
    void meet(Holder life) {
        if (lives.endsAnother(life)) {
            lost(new Holder(life.worker(), life.generation() - 1));
        }
        if (lives.meet(life)) {
            users.ownerReturned(life.worker());
        }
    }

    void lost(Holder dead) {
        lives.lost(dead);
        sends.drop(dead);
        users.ownerLost(dead);
        releaseLater(dead);
    }

    /** A fork was made for a life: when that is over already, what it holds goes as that of any dead one. */
    void shared(Holder to) {
        if (lives.isOver(to)) {
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
