package io.waybill.osgi;

import io.waybill.api.admin.BundleInfo.State;
import io.waybill.api.admin.BundleList;
import io.waybill.api.admin.Canary;
import io.waybill.api.policy.BundleCandidate.Origin;
import io.waybill.host.Clock;
import io.waybill.host.Host;
import io.waybill.osgi.ComponentCheck.Obstacles;
import io.waybill.osgi.guard.StartLevels;
import io.waybill.osgi.jar.BundleRefusedException;
import io.waybill.osgi.jar.BundleRefusedException.Reason;
import io.waybill.osgi.jar.KeptJars;
import io.waybill.osgi.jar.KeptJars.Keeping;
import io.waybill.osgi.jar.StagedJar;
import io.waybill.osgi.jar.Staging;
import io.waybill.osgi.whiteboard.RequiredBundlePolicy;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleContext;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Installs, updates, starts, stops and removes handler bundles, one operation at a time.
 *
 * <p>Before a replacement, the jar is copied to a directory that only this process may write, checked, and resolved
 * together with the running bundles. If the new bundle then throws on start, hangs, or has a component that does not
 * become active, the old one is restored. System bundles are listed but never changed. Installed bundles are
 * reinstalled when the node restarts.
 *
 * <p><b>Threads.</b> Any; operations wait for each other, {@link #list()} does not.
 */
public final class BundleControl implements AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(BundleControl.class);

    private final BundleContext context;
    private final Staging staging;
    private final KeptJars kept;
    private final BundleSteps steps;
    private final Clock clock;
    private final BundleSlots slots;
    private final BundleStarts starts;
    private final BundleReplacement replacement;
    private final WaitingBundles waiting;
    private final Canaries canaries;
    private final ReentrantLock oneAtATime = new ReentrantLock(true);
    private final AtomicLong arrivals = new AtomicLong();
    private volatile BundleList.Operation
            running; // set by the thread that holds the lock, read by any; null when none runs
    private volatile boolean isStarting = true; // set by the thread that starts the node, read by any

    BundleControl(BundleContext context, Staging staging, KeptJars kept, BundleSteps steps, Host machine) {
        this.context = context;
        this.staging = staging;
        this.kept = kept;
        this.steps = steps;
        this.clock = machine.clock();
        this.slots = new BundleSlots(context);
        this.starts = new BundleStarts(slots, steps);
        this.waiting = new WaitingBundles(slots);
        this.replacement = new BundleReplacement(slots, staging, steps, starts, clock);
        this.canaries = new Canaries(staging, replacement, steps, machine, this::rollBackFor);
    }

    /** Lists every bundle, the system's first, then by name. */
    public List<BundleStatus> list() {
        List<BundleStatus> statuses = new ArrayList<>();
        for (Bundle bundle : context.getBundles()) {
            if (StartLevels.isSystem(bundle)) {
                statuses.add(BundleStatus.ofSystem(bundle));
            }
        }
        slots.all().forEach(slot -> statuses.add(statusNow(slot)));
        canaries.slots().forEach(slot -> statuses.add(slot.status()));
        return statuses;
    }

    /** Returns the operation that the others wait for; empty when none runs. */
    public Optional<BundleList.Operation> running() {
        return Optional.ofNullable(running);
    }

    /** Returns the status with the current problem of a running bundle, or else the last one. */
    private BundleStatus statusNow(BundleSlot slot) {
        if (!slot.isWanted() || !slot.isStarted()) {
            return slot.status();
        }
        Obstacles now = steps.obstacles(slot.bundle, Duration.ZERO);
        State state = now.areThere() && (now.mayPass() || slot.isWaiting()) ? State.WAITING : State.ACTIVE;
        boolean isLast = !now.areThere() && !slot.isWaiting(); // a dependency that has arrived is no longer a problem
        return slot.status(state, now.areThere() ? now.text() : isLast ? slot.problem() : null);
    }

    /** Returns the policies that decide which jars are installed. */
    List<RequiredBundlePolicy> policies() {
        return steps.bundlePolicies();
    }

    /** Returns the waiting bundles and their missing dependencies. */
    WaitingBundles waiting() {
        return waiting;
    }

    /** Returns a counter of arrivals that another bundle may have waited for: bundles and configurations. */
    long arrivals() {
        return arrivals.get();
    }

    /** Records that configurations changed. */
    void configured() {
        arrivals.incrementAndGet();
    }

    /** Marks the end of the node's start, during which each bundle may depend on later ones. */
    void started() {
        oneAtATime.lock();
        try {
            starts.awaitComponents(steps.activationLimit(), clock);
            isStarting = false;
            waiting.note();
        } finally {
            oneAtATime.unlock();
        }
    }

    /** Rechecks the waiting bundles, unless an operation runs: each operation ends with the same check. */
    void look() {
        if (waiting.areThere() && oneAtATime.tryLock()) {
            try {
                starts.lookAtWaiting();
                waiting.note();
            } finally {
                oneAtATime.unlock();
            }
        }
    }

    /** Installs and starts a bundle; updates it if a bundle of its name is installed. */
    public BundleStatus install(Path jar) throws BundleRefusedException {
        return install(staging.stage(jar), StartLevels.FIRST_HANDLER_LEVEL, Keeping.REPLACE);
    }

    /** Replaces an installed bundle by the one in this jar with the same name. A stopped bundle stays stopped. */
    public BundleStatus update(Path jar) throws BundleRefusedException {
        return update(staging.stage(jar));
    }

    /** Replaces the named bundle. */
    public BundleStatus update(String symbolicName, Path jar) throws BundleRefusedException {
        StagedJar staged = staging.stage(jar);
        if (!staged.symbolicName().equals(symbolicName)) {
            staging.discard(staged);
            throw new BundleRefusedException(
                    Reason.NO_BUNDLE,
                    jar + " is " + staged.symbolicName() + ", and " + symbolicName + " was to be updated");
        }
        return update(staged);
    }

    private BundleStatus update(StagedJar staged) throws BundleRefusedException {
        return exclusively(
                "update to " + staged,
                () -> replace(requireReplaceable(staged, Keeping.REPLACE), staged, Keeping.REPLACE));
    }

    /** Starts the next version of a bundle, and gives it a share of the requests. */
    public BundleStatus canary(Path jar, Canary settings) throws BundleRefusedException {
        StagedJar staged = staging.stage(jar);
        return exclusively("try " + staged, () -> {
            BundleSlot slot = requireReplaceable(staged, Keeping.REPLACE);
            return canaries.begin(slot, staged, settings);
        });
    }

    /** Lets the canary of a bundle serve all requests, in place of the running version. */
    public BundleStatus promote(String symbolicName) throws BundleRefusedException {
        return exclusively("promote " + symbolicName, () -> {
            BundleSlot promoted = canaries.promote(symbolicName);
            kept.apply(Keeping.REPLACE, promoted.jar()).ifPresent(promoted::failed);
            arrivals.incrementAndGet();
            return promoted;
        });
    }

    /** Removes the canary of a bundle, whose running version serves all requests again. */
    public BundleStatus rollBack(String symbolicName) throws BundleRefusedException {
        return rollBack(symbolicName, null);
    }

    private BundleStatus rollBack(String symbolicName, String reason) throws BundleRefusedException {
        return exclusively("roll back " + symbolicName, () -> {
            BundleSlot running = canaries.rollBack(symbolicName, reason);
            arrivals.incrementAndGet();
            return running;
        });
    }

    private void rollBackFor(String symbolicName, String reason) {
        try {
            rollBack(symbolicName, reason);
        } catch (BundleRefusedException e) {
            LOG.info("{} was not rolled back: {}", symbolicName, e.getMessage()); // another operation ended the trial
        }
    }

    private BundleSlot requireReplaceable(StagedJar staged, Keeping keeping) throws BundleRefusedException {
        try {
            BundleSlot slot = slots.require(staged.symbolicName());
            canaries.requireNone(staged.symbolicName());
            requireAllowed(staged, keeping);
            return slot;
        } catch (BundleRefusedException e) {
            staging.discard(staged);
            throw e;
        }
    }

    @Override
    public void close() {
        canaries.close();
    }

    /** Starts a stopped bundle. */
    public BundleStatus start(String symbolicName) throws BundleRefusedException {
        return exclusively("start " + symbolicName, () -> {
            BundleSlot slot = slots.requireInstalled(symbolicName);
            if (!slot.isActive()) {
                try {
                    starts.start(slot, BundleStarts.mayLack(slot.jar()), steps.activationLimit());
                } catch (BundleRefusedException e) {
                    slot.failed(e.getMessage());
                    starts.stopAfter(e, slot);
                    throw e;
                }
                arrivals.incrementAndGet();
            }
            return slot;
        });
    }

    /**
     * Stops a bundle after its running requests have completed or the drain limit has passed. New requests for its
     * handlers park.
     */
    public BundleStatus stop(String symbolicName) throws BundleRefusedException {
        return exclusively("stop " + symbolicName, () -> {
            BundleSlot slot = slots.requireInstalled(symbolicName);
            canaries.endOf(symbolicName);
            boolean isStopped = slot.state() == State.STOPPED;
            starts.stop(slot);
            if (!isStopped) {
                slot.clearProblem(); // from an earlier stop or a missing dependency
            }
            return slot;
        });
    }

    /** Stops and removes a bundle. A stuck bundle is dropped from the list, and removed if its code ever returns. */
    public BundleStatus uninstall(String symbolicName) throws BundleRefusedException {
        return exclusively("uninstall " + symbolicName, () -> {
            if (slots.find(symbolicName).isEmpty()) {
                Optional<BundleSlot> stuck = slots.takeStuck(symbolicName);
                if (stuck.isPresent()) {
                    return forget(stuck.get());
                }
            }
            BundleSlot slot = slots.require(symbolicName);
            canaries.endOf(symbolicName);
            if (slot.isGone()) {
                steps.forget(slot.bundle);
            } else {
                starts.stop(slot);
                steps.uninstall(slot.bundle);
            }
            slot.removed();
            slots.remove(slot);
            slot.clearProblem();
            kept.forget(symbolicName).ifPresent(slot::failed);
            staging.discard(slot.jar());
            LOG.info("Uninstalled {}", slot.jar());
            return slot;
        });
    }

    /** Drops a stuck bundle: its code may never return, and waiting for it would block all other operations. */
    private BundleSlot forget(BundleSlot stuck) {
        String comesBack =
                kept.forget(stuck.symbolicName()).map(text -> "; " + text).orElse("");
        staging.discard(stuck.jar());
        steps.uninstallWhenReturned(stuck.bundle);
        stuck.failed("its code has not returned, and stays in memory until it does or the node ends" + comesBack);
        LOG.info("Uninstalled {}, which is stuck", stuck.jar());
        return stuck;
    }

    /** Returns the running jar of a bundle. */
    Optional<StagedJar> installed(String symbolicName) {
        return slots.find(symbolicName).map(BundleSlot::jar);
    }

    /**
     * Adopts a jar as the source of a bundle if the bundle runs the same content, and then discards the staged copy.
     */
    boolean runsSame(StagedJar jar) {
        Optional<BundleSlot> same = slots.find(jar.symbolicName())
                .filter(slot -> slot.jar().sha256().equals(jar.sha256()));
        same.ifPresent(slot -> {
            slot.runs(slot.jar().from(jar.source()));
            staging.discard(jar);
        });
        return same.isPresent();
    }

    /**
     * Installs a jar from the watched directory, which provides it at the next start, too. Takes ownership of the jar.
     */
    BundleStatus installWatched(StagedJar jar) throws BundleRefusedException {
        return install(jar, StartLevels.FIRST_HANDLER_LEVEL, Keeping.FORGET);
    }

    /** Installs a jar during the node's start. Takes ownership of the jar. */
    BundleStatus installAtStart(StagedJar jar, int startLevel) throws BundleRefusedException {
        return install(jar, startLevel, Keeping.LEAVE);
    }

    private BundleStatus install(StagedJar jar, int startLevel, Keeping keeping) throws BundleRefusedException {
        return exclusively("install " + jar, () -> {
            try {
                canaries.requireNone(jar.symbolicName());
                requireAllowed(jar, keeping);
            } catch (BundleRefusedException e) {
                staging.discard(jar);
                throw e;
            }
            Optional<BundleSlot> slot = slots.find(jar.symbolicName());
            return slot.isPresent() ? replace(slot.get(), jar, keeping) : installFirst(jar, startLevel, keeping);
        });
    }

    /** Fails unless the bundle policies allow a jar that comes in; a node's own jars and kept ones are there already. */
    private void requireAllowed(StagedJar jar, Keeping keeping) throws BundleRefusedException {
        if (keeping != Keeping.LEAVE) {
            Origin origin = keeping == Keeping.FORGET ? Origin.DIRECTORY : Origin.COMMAND;
            steps.requireAllowed(jar, installed(jar.symbolicName()), origin);
        }
    }

    private BundleSlot installFirst(StagedJar jar, int startLevel, Keeping keeping) throws BundleRefusedException {
        BundleSlot slot = null;
        // policies from an earlier installation, or from before the node's start
        boolean isPolicyRequired = steps.requiresPoliciesOf(jar.symbolicName());
        try {
            slots.requireNoSystemBundle(jar.symbolicName());
            slot = new BundleSlot(steps.install(jar, startLevel), jar, clock);
            starts.start(slot, BundleStarts.mayLack(jar), isStarting ? Duration.ZERO : steps.activationLimit());
        } catch (BundleRefusedException e) {
            if (slot != null) {
                starts.drop(slot, e, isPolicyRequired);
            }
            staging.discard(jar);
            throw e;
        }
        slots.put(slot);
        kept.apply(keeping, jar).ifPresent(slot::failed);
        arrivals.incrementAndGet();
        LOG.info("Installed {} from {}", jar, jar.source());
        return slot;
    }

    private BundleSlot replace(BundleSlot slot, StagedJar candidate, Keeping keeping) throws BundleRefusedException {
        if (slot.isGone()) {
            slots.remove(slot);
            staging.discard(slot.jar());
            return installFirst(candidate, StartLevels.FIRST_HANDLER_LEVEL, keeping);
        }
        BundleSlot current = replacement.replace(slot, candidate);
        kept.apply(keeping, candidate).ifPresent(current::failed);
        arrivals.incrementAndGet();
        return current;
    }

    /** Change of a bundle; returns the slot of the bundle. */
    private interface Operation {
        BundleSlot run() throws BundleRefusedException;
    }

    private BundleStatus exclusively(String what, Operation operation) throws BundleRefusedException {
        BundleList.Operation before = running;
        if (before != null) {
            LOG.info("Waiting to {}, until this has ended: {}", what, before.operation());
        }
        oneAtATime.lock();
        try {
            running = new BundleList.Operation(what, Instant.ofEpochSecond(0, clock.wallNs()));
            return statusAfter(operation);
        } finally {
            running = null;
            waiting.note();
            oneAtATime.unlock();
        }
    }

    private BundleStatus statusAfter(Operation operation) throws BundleRefusedException {
        List<BundleStatus> before = statuses();
        BundleSlot slot;
        try {
            slot = operation.run();
        } finally {
            starts.startWaiting();
        }
        if (slot.isWaiting() && !isStarting) {
            BundleStarts.reportLack(slot);
        }
        BundleStatus status = slot.status().after(before, statuses());
        if (!status.stopped().isEmpty()) {
            LOG.warn("{} lack what {} provided, and wait for it", String.join(", ", status.stopped()), slot.jar());
        }
        return status;
    }

    private List<BundleStatus> statuses() {
        return slots.all().stream().map(BundleSlot::status).toList();
    }
}
