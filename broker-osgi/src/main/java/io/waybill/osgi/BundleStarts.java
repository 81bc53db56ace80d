package io.waybill.osgi;

import io.waybill.api.admin.BundleInfo.State;
import io.waybill.api.policy.AccessPolicy;
import io.waybill.api.policy.BundlePolicy;
import io.waybill.host.Clock;
import io.waybill.osgi.ComponentCheck.Obstacles;
import io.waybill.osgi.jar.BundleRefusedException;
import io.waybill.osgi.jar.BundleRefusedException.Reason;
import io.waybill.osgi.jar.ComponentDeclaration;
import io.waybill.osgi.jar.StagedJar;
import java.time.Duration;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Starts and stops handler bundles. A bundle that lacks a package, a service or a configuration waits for it, and is
 * started after the operation that provides it.
 *
 * <p><b>Threads.</b> One operation at a time; {@link BundleControl} ensures that.
 */
final class BundleStarts {

    private static final Logger LOG = LoggerFactory.getLogger(BundleStarts.class);

    private final BundleSlots slots;
    private final BundleSteps steps;

    /** Dependencies that a bundle may lack at its start, and wait for. */
    enum MayLack {
        NOTHING,
        /** The bundle resolves, and its components may lack services and configurations. */
        SERVICES,
        /** The bundle need not resolve. */
        PACKAGES
    }

    BundleStarts(BundleSlots slots, BundleSteps steps) {
        this.slots = slots;
        this.steps = steps;
    }

    /**
     * Returns which dependencies a jar may lack. A jar with a policy may lack none: a waiting policy would block the
     * requests or jars of all other bundles, or let them all pass.
     */
    static MayLack mayLack(StagedJar jar) {
        boolean isPolicy = ComponentDeclaration.in(jar.copy(), AccessPolicy.class)
                        .isPresent()
                || ComponentDeclaration.in(jar.copy(), BundlePolicy.class).isPresent();
        return isPolicy ? MayLack.NOTHING : MayLack.PACKAGES;
    }

    /**
     * Resolves and starts a bundle, which is active or waiting afterwards.
     *
     * @param limit max time for its components to become satisfied
     * @throws BundleRefusedException if it does not start, or lacks more than it may; it may be running then
     */
    void start(BundleSlot slot, MayLack allowed, Duration limit) throws BundleRefusedException {
        try {
            steps.resolve(slot.bundle, slot.jar());
        } catch (BundleRefusedException e) {
            if (e.reason() != Reason.UNRESOLVED || allowed != MayLack.PACKAGES) {
                throw e;
            }
            slot.lacks(e.getMessage());
            return;
        }
        steps.begin(slot.bundle);
        startOthers(slot); // they may wait for this bundle, and this bundle for them
        Obstacles obstacles = steps.obstacles(slot.bundle, limit);
        if (!obstacles.areThere()) {
            completed(slot);
        } else if (obstacles.mayPass() && allowed != MayLack.NOTHING) {
            slot.lacks(obstacles.text());
        } else {
            throw new BundleRefusedException(Reason.START_FAILED, obstacles.text());
        }
    }

    private void completed(BundleSlot slot) {
        steps.completed(slot.bundle);
        slot.clearProblem();
        slot.enter(State.ACTIVE);
    }

    /**
     * Starts the bundles whose dependencies an operation provided, and updates the list of waiting bundles. Never
     * throws, because these bundles are not part of the operation.
     */
    void startWaiting() {
        startOthers(null);
        slots.all().forEach(this::look);
    }

    private void startOthers(BundleSlot starting) {
        boolean isAnyStarted = true;
        while (isAnyStarted) {
            isAnyStarted = false;
            for (BundleSlot slot : slots.all()) {
                if (slot != starting && slot.isWaiting() && !slot.isStarted()) {
                    isAnyStarted |= startIfItResolves(slot);
                }
            }
        }
    }

    private boolean startIfItResolves(BundleSlot slot) {
        try {
            steps.resolve(slot.bundle, slot.jar());
            steps.begin(slot.bundle);
            return true;
        } catch (BundleRefusedException e) {
            if (e.reason() == Reason.UNRESOLVED) {
                noteLack(slot, e.getMessage());
            } else {
                notStarted(slot, e);
            }
            return false;
        }
    }

    private void notStarted(BundleSlot slot, BundleRefusedException why) {
        LOG.error("{} had waited, and does not start: {}", slot.jar(), why.getMessage());
        slot.failed(why.getMessage());
        try {
            stopAfter(why, slot);
        } catch (BundleRefusedException e) {
            LOG.error("{} does not stop: {}", slot.jar(), e.getMessage());
        }
    }

    /** Rechecks the waiting bundles for dependencies that have arrived. Free of cost while no bundle waits. */
    void lookAtWaiting() {
        slots.all().stream().filter(BundleSlot::isWaiting).forEach(this::look);
    }

    /** Updates whether a running bundle waits for a dependency. */
    void look(BundleSlot slot) {
        if (!slot.isWanted() || !slot.isStarted()) {
            return;
        }
        Obstacles obstacles = steps.obstacles(slot.bundle, Duration.ZERO);
        if (obstacles.areThere() && (obstacles.mayPass() || slot.isWaiting())) {
            noteLack(slot, obstacles.text());
        } else if (!obstacles.areThere() && slot.isWaiting()) {
            completed(slot);
            LOG.info("{} is active: what it waited for is there", slot.jar());
        }
    }

    /** Waits a limited time for all waiting components together, and reports those that still wait. */
    void awaitComponents(Duration limit, Clock clock) {
        long untilNs = clock.monotonicNs() + limit.toNanos();
        for (BundleSlot slot : slots.all()) {
            if (slot.isWaiting() && slot.isStarted()) {
                steps.obstacles(slot.bundle, Duration.ofNanos(Math.max(0, untilNs - clock.monotonicNs())));
            }
        }
        startWaiting();
        slots.all().stream().filter(BundleSlot::isWaiting).forEach(BundleStarts::reportLack);
    }

    private static void noteLack(BundleSlot slot, String text) {
        boolean isKnown = text.equals(slot.problem());
        slot.lacks(text);
        if (!isKnown) {
            reportLack(slot);
        }
    }

    /** Reports the missing dependencies of a bundle. */
    static void reportLack(BundleSlot slot) {
        LOG.warn("{} is installed and waits: {}", slot.jar(), slot.problem());
    }

    /** Stops a bundle after its running requests have completed or the drain limit has passed. */
    void stop(BundleSlot slot) throws BundleRefusedException {
        try {
            steps.stop(slot.bundle);
            slot.enter(State.STOPPED);
        } catch (BundleRefusedException e) {
            slot.failed(e.getMessage());
            if (e.reason() == Reason.HUNG) {
                slots.giveUp(slot);
            }
            throw e;
        }
    }

    void stopAfter(BundleRefusedException failedStart, BundleSlot slot) throws BundleRefusedException {
        if (failedStart.reason() == Reason.HUNG) {
            slots.giveUp(slot);
        } else {
            stop(slot);
        }
    }

    /**
     * Removes a bundle that was not taken.
     *
     * @param keepsPolicies whether policies of its name remain required
     */
    void drop(BundleSlot failed, BundleRefusedException why, boolean keepsPolicies) {
        try {
            if (why.reason() == Reason.HUNG) {
                slots.giveUp(failed);
                return;
            }
            steps.stop(failed.bundle);
            if (keepsPolicies) {
                steps.remove(failed.bundle);
            } else {
                steps.uninstall(failed.bundle);
            }
        } catch (BundleRefusedException e) {
            slots.giveUp(failed);
            why.addSuppressed(e);
        }
    }
}
