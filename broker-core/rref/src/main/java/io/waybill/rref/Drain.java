package io.waybill.rref;

import io.waybill.rref.status.DrainReport;
import java.util.function.Consumer;

/**
 * Graceful end of a worker's references: waits until every reference is confirmed or has failed, releases all forks,
 * and waits until no worker has a fork of a value of this worker. Each wait is bounded.
 *
 * <p><b>Threads.</b> Guarded by the {@link Gate}; re-evaluated whenever the state may have changed.
 */
final class Drain {

    private enum Phase {
        CONFIRMING,
        RETURNING,
        DONE
    }

    private final References references;
    private final Owners owners;
    private final Users users;
    private final ControlSends sends;
    private final Gate gate;
    private final Consumer<DrainReport> notified;
    private final StringBuilder unfinished = new StringBuilder();
    private Phase phase = Phase.CONFIRMING;

    Drain(
            References references,
            Owners owners,
            Users users,
            ControlSends sends,
            Gate gate,
            Consumer<DrainReport> notified) {
        this.references = references;
        this.owners = owners;
        this.users = users;
        this.sends = sends;
        this.gate = gate;
        this.notified = notified;
    }

    void look() {
        if (phase == Phase.CONFIRMING && users.isQuiet()) {
            giveBack();
        }
        if (phase == Phase.RETURNING && isOver()) {
            end();
        }
    }

    private boolean isOver() {
        return owners.table().isEmpty() && sends.size() == 0 && users.isQuiet() && users.confirmed() == 0;
    }

    /** Continues when half of the time is over. */
    void onHalf() {
        if (phase == Phase.CONFIRMING) {
            unfinished.append("Timed out waiting for pending UserRRefs to be confirmed by owner and parent.");
            giveBack();
        }
    }

    void onLimit() {
        if (phase == Phase.RETURNING) {
            unfinished
                    .append(unfinished.isEmpty() ? "" : " ")
                    .append("Timed out waiting for pending OwnerRRefs to be deleted.");
            end();
        }
    }

    private void giveBack() {
        phase = Phase.RETURNING;
        users.endAll();
        owners.dropUnforked();
    }

    private void end() {
        phase = Phase.DONE;
        DrainReport report = new DrainReport(isOver(), references.countersUnderLock(), unfinished.toString());
        gate.later(() -> notified.accept(report));
    }
}
