package io.waybill.osgi;

import io.waybill.host.Clock;
import io.waybill.osgi.BundleStatus.State;
import io.waybill.osgi.ComponentCheck.Obstacles;
import io.waybill.osgi.jar.BundleRefusedException;
import io.waybill.osgi.jar.BundleRefusedException.Reason;
import io.waybill.osgi.jar.PolicyDeclaration;
import io.waybill.osgi.jar.StagedJar;
import java.time.Duration;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Starts and stops handler bundles. One that lacks something that may come, such as a package, a service or a configuration, waits for it, and
 * is started after the operation that brings it.
 *
 * <p><b>Threads.</b> One operation at a time; {@link BundleControl} ensures that.
 */
final class BundleStarts {

    private static final Logger LOG = LoggerFactory.getLogger(BundleStarts.class);

    private final BundleSlots slots;
    private final BundleSteps steps;

    /** What a bundle may lack when it is started, and wait for. */
    enum MayLack {
        NOTHING,
        /** It resolves, and its components may lack services and configurations. */
        SERVICES,
        /** It need not resolve. */
        PACKAGES
    }

    BundleStarts(BundleSlots slots, BundleSteps steps) {
        this.slots = slots;
        this.steps = steps;
    }

    /** A policy that waited would let none of the other bundles' requests pass, or all: it is refused until it is complete. */
    static MayLack mayLack(StagedJar jar) {
        return PolicyDeclaration.in(jar.copy()).isPresent() ? MayLack.NOTHING : MayLack.PACKAGES;
    }

    /**
     * Resolves and starts a bundle, which is active or waiting then.
     *
     * @param limit max time for its components to become satisfied
     * @throws BundleRefusedException when it does not start, or lacks more than it may; it may be started then
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
        startOthers(slot); // which may have waited for it, and it for them
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

    /** Starts the bundles that waited for what an operation brought, and notes which wait from now on. Throws nothing: they are no part of it. */
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

    /** Notes which of the waiting bundles have now what they waited for. Costs nothing while none waits. */
    void lookAtWaiting() {
        slots.all().stream().filter(BundleSlot::isWaiting).forEach(this::look);
    }

    /** Notes whether a bundle that runs waits for something. */
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

    /** Gives all components that wait a limited time together, and reports those that wait still. */
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

    /** Says what a bundle waits for. */
    static void reportLack(BundleSlot slot) {
        LOG.warn("{} is installed and waits: {}", slot.jar(), slot.problem());
    }

    /** Stops a bundle, when its running requests ended or the drain limit passed. */
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
}
