package io.waybill.osgi;

import io.waybill.api.admin.BundleInfo.State;
import io.waybill.host.Clock;
import io.waybill.osgi.BundleStarts.MayLack;
import io.waybill.osgi.guard.StartLevels;
import io.waybill.osgi.jar.BundleRefusedException;
import io.waybill.osgi.jar.BundleRefusedException.Reason;
import io.waybill.osgi.jar.StagedJar;
import io.waybill.osgi.jar.Staging;
import org.osgi.framework.Bundle;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Replaces an installed bundle by its next version. The next version starts beside the running one and then takes its
 * requests over by one write; where that is {@linkplain SideBySide#isPossible not possible}, the old one stops first,
 * and is restored if the new one does not start.
 *
 * <p><b>Threads.</b> One operation at a time; {@link BundleControl} ensures that.
 */
final class BundleReplacement {

    private static final Logger LOG = LoggerFactory.getLogger(BundleReplacement.class);

    private final BundleSlots slots;
    private final Staging staging;
    private final BundleSteps steps;
    private final BundleStarts starts;
    private final Clock clock;

    BundleReplacement(BundleSlots slots, Staging staging, BundleSteps steps, BundleStarts starts, Clock clock) {
        this.slots = slots;
        this.staging = staging;
        this.steps = steps;
        this.starts = starts;
        this.clock = clock;
    }

    /**
     * Replaces a bundle. It runs afterwards if it ran before, and waits if it waited before.
     *
     * @return the slot of the next version
     * @throws BundleRefusedException if the old version is in its place, or was restored
     */
    BundleSlot replace(BundleSlot slot, StagedJar candidate) throws BundleRefusedException {
        MayLack mayLack = mayLack(slot, candidate);
        return steps.canStartBeside(slot, candidate)
                ? replaceBeside(slot, candidate)
                : replaceInTurn(slot, candidate, mayLack);
    }

    private BundleSlot replaceBeside(BundleSlot slot, StagedJar candidate) throws BundleRefusedException {
        BundleSlot next = startBeside(slot, candidate, started -> steps.replaceHandlers(slot.bundle, started));
        replaced(slot, next);
        return next;
    }

    /** Last step of a start beside the running version, after all of the next version has started. */
    interface Switch {
        void to(Bundle started) throws BundleRefusedException;
    }

    /** Starts a version of a bundle beside the running one, whose handlers are held until the last step. */
    BundleSlot startBeside(BundleSlot running, StagedJar candidate, Switch last) throws BundleRefusedException {
        BundleSlot next = null;
        try {
            next = new BundleSlot(steps.install(candidate, StartLevels.FIRST_HANDLER_LEVEL), candidate, clock);
            steps.holdHandlers(next.bundle);
            starts.start(next, MayLack.NOTHING, steps.activationLimit());
            last.to(next.bundle);
            return next;
        } catch (BundleRefusedException e) {
            if (next != null) {
                starts.drop(next, e, true);
            }
            staging.discard(candidate);
            if (e.reason() == Reason.UNRESOLVED || next == null) {
                running.failed(e.getMessage());
                throw e;
            }
            throw notTaken(candidate, running, running.jar() + " still serves" + remedy(e), e);
        }
    }

    /** Ends the version of a bundle whose requests go to the next one. */
    void replaced(BundleSlot old, BundleSlot next) {
        slots.put(next);
        LOG.info("{} serves in place of {}, which ends", next.jar(), old.jar());
        remove(old);
    }

    /** Drains and removes a version of a bundle whose other version serves. */
    void remove(BundleSlot slot) {
        try {
            starts.stop(slot);
            steps.remove(slot.bundle);
        } catch (BundleRefusedException e) {
            slots.giveUp(slot);
        }
        staging.discard(slot.jar());
    }

    private static String remedy(BundleRefusedException why) {
        return why.reason() == Reason.START_FAILED
                ? " (if the two can't run at the same time, declare the bundle @Exclusive, or stop it first)"
                : "";
    }

    private BundleSlot replaceInTurn(BundleSlot slot, StagedJar candidate, MayLack mayLack)
            throws BundleRefusedException {
        try {
            if (mayLack != MayLack.PACKAGES) {
                steps.tryResolve(candidate);
            }
        } catch (BundleRefusedException e) {
            slot.failed(e.getMessage());
            staging.discard(candidate);
            throw e;
        }
        boolean wasWanted = slot.isWanted();
        StagedJar before = slot.jar();
        BundleSlot current = slot;
        steps.replacing(candidate.symbolicName());
        try {
            current = putIn(slot, candidate);
            if (wasWanted) {
                starts.start(current, mayLack, steps.activationLimit());
            }
        } catch (BundleRefusedException e) {
            current = putBack(current, before, wasWanted, e);
            staging.discard(candidate);
            throw notTaken(candidate, current, inPlace(before, current, wasWanted), e);
        } finally {
            steps.replaced(candidate.symbolicName());
        }
        staging.discard(before);
        if (!wasWanted) {
            current.clearProblem();
            current.enter(State.STOPPED);
        }
        LOG.info("Updated {} to {} from {}", before, candidate, candidate.source());
        return current;
    }

    /**
     * Returns which dependencies a candidate may lack: as many as the bundle that it replaces, so that a serving bundle
     * is kept.
     */
    private MayLack mayLack(BundleSlot slot, StagedJar candidate) {
        starts.look(slot);
        boolean isPolicy = BundleStarts.mayLack(slot.jar()) == MayLack.NOTHING
                || BundleStarts.mayLack(candidate) == MayLack.NOTHING;
        if (!slot.isWaiting() || isPolicy) {
            return MayLack.NOTHING;
        }
        return slot.isStarted() ? MayLack.SERVICES : MayLack.PACKAGES;
    }

    /** Installs a jar in place of the running one: in the same bundle, or in a new one if the old one does not stop. */
    private BundleSlot putIn(BundleSlot slot, StagedJar candidate) throws BundleRefusedException {
        try {
            starts.stop(slot);
        } catch (BundleRefusedException e) {
            if (e.reason() != Reason.HUNG) {
                throw e;
            }
            LOG.warn("{} does not stop, and {} is put beside it", slot.jar(), candidate);
            BundleSlot beside =
                    new BundleSlot(steps.install(candidate, StartLevels.FIRST_HANDLER_LEVEL), candidate, clock);
            slots.put(beside);
            return beside;
        }
        slot.runs(candidate);
        steps.update(slot.bundle, candidate);
        return slot;
    }

    private static String inPlace(StagedJar before, BundleSlot current, boolean wasWanted) {
        return current.isWanted() || !wasWanted
                ? before + " is in its place again" + (current.isWaiting() ? " and waits: " + current.problem() : "")
                : before + " did not start again: " + current.problem();
    }

    private static BundleRefusedException notTaken(
            StagedJar candidate, BundleSlot current, String now, BundleRefusedException why) {
        BundleRefusedException notified = new BundleRefusedException(
                why.reason(), candidate + " was not taken: " + why.getMessage() + "; " + now, why);
        current.failed(notified.getMessage());
        return notified;
    }

    /** Restores the previous jar: in the same bundle, or in a new one if the bundle hangs. */
    private BundleSlot putBack(BundleSlot slot, StagedJar before, boolean start, BundleRefusedException why) {
        LOG.warn("{} is put back: {}", before, why.getMessage());
        BundleSlot target = slot;
        try {
            if (why.reason() == Reason.HUNG) {
                slots.giveUp(slot);
                target = new BundleSlot(steps.install(before, StartLevels.FIRST_HANDLER_LEVEL), before, clock);
                slots.put(target);
            } else {
                steps.stop(slot.bundle);
                slot.runs(before);
                steps.update(slot.bundle, before);
            }
            target.enter(State.STOPPED);
            if (start) {
                starts.start(target, MayLack.PACKAGES, steps.activationLimit());
            }
        } catch (BundleRefusedException e) {
            target.failed(e.getMessage());
            if (e.reason() == Reason.HUNG) {
                slots.giveUp(target);
            }
        }
        return target;
    }
}
