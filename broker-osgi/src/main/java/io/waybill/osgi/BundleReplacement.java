package io.waybill.osgi;

import io.waybill.api.admin.BundleInfo.State;
import io.waybill.host.Clock;
import io.waybill.osgi.BundleStarts.MayLack;
import io.waybill.osgi.guard.StartLevels;
import io.waybill.osgi.jar.BundleRefusedException;
import io.waybill.osgi.jar.BundleRefusedException.Reason;
import io.waybill.osgi.jar.StagedJar;
import io.waybill.osgi.jar.Staging;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Replaces the jar of an installed bundle, and restores the old one if the new one does not start.
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
     * Replaces the jar of a bundle. The bundle runs afterwards if it ran before, and waits if it waited before.
     *
     * @throws BundleRefusedException if the old jar was restored
     */
    BundleSlot replace(BundleSlot slot, StagedJar candidate) throws BundleRefusedException {
        MayLack mayLack = mayLack(slot, candidate);
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
            throw notTaken(candidate, before, current, wasWanted, e);
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

    private static BundleRefusedException notTaken(
            StagedJar candidate, StagedJar before, BundleSlot current, boolean wasWanted, BundleRefusedException why) {
        String now = current.isWanted() || !wasWanted
                ? before + " is in its place again" + (current.isWaiting() ? " and waits: " + current.problem() : "")
                : before + " did not start again: " + current.problem();
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
