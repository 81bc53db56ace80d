package io.waybill.osgi;

import io.waybill.api.admin.BundleInfo.State;
import io.waybill.api.admin.Canary;
import io.waybill.dispatch.CanaryRule;
import io.waybill.host.Host;
import io.waybill.osgi.jar.BundleRefusedException;
import io.waybill.osgi.jar.BundleRefusedException.Reason;
import io.waybill.osgi.jar.StagedJar;
import io.waybill.osgi.jar.Staging;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BiConsumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Trials of next versions, at most one for each bundle. A trial is not kept: after a restart of the node the running
 * version serves alone.
 *
 * <p><b>Threads.</b> One operation at a time, which {@link BundleControl} ensures; {@link #slots} any. A thread of its
 * own checks the rules, from the first trial on.
 */
final class Canaries implements AutoCloseable {

    private static final Duration CHECK_INTERVAL = Duration.ofMillis(250);
    private static final Logger LOG = LoggerFactory.getLogger(Canaries.class);

    private final Staging staging;
    private final BundleReplacement replacement;
    private final BundleSteps steps;
    private final Host machine;
    private final BiConsumer<String, String> rollback;
    private final Map<String, Trial> trials = new ConcurrentHashMap<>(); // by symbolic name
    private PeriodicCheck check; // null before the first trial

    /** @param isOver set by the thread that promotes or ends it, once */
    private record Trial(
            BundleSlot running, BundleSlot next, Optional<RollbackRule> rollbackIf, AtomicBoolean isOver) {}

    /** @param rollback called on the thread of the rules, with a bundle's symbolic name and the reason */
    Canaries(
            Staging staging,
            BundleReplacement replacement,
            BundleSteps steps,
            Host machine,
            BiConsumer<String, String> rollback) {
        this.staging = staging;
        this.replacement = replacement;
        this.steps = steps;
        this.machine = machine;
        this.rollback = rollback;
    }

    /** Starts the next version of a bundle beside the running one, and gives it its share. */
    BundleSlot begin(BundleSlot running, StagedJar candidate, Canary settings) throws BundleRefusedException {
        CanaryRule rule;
        Optional<RollbackRule> rollbackIf;
        try {
            requirePossible(running, candidate);
            rule = new CanaryRule(settings.percent(), settings.caller(), settings.operation());
            rollbackIf = settings.rollbackIf().map(RollbackRule::parse);
        } catch (BundleRefusedException e) {
            staging.discard(candidate);
            throw e;
        } catch (IllegalArgumentException e) {
            staging.discard(candidate);
            throw new BundleRefusedException(Reason.FAILED, e.getMessage(), e);
        }
        BundleSlot next = replacement.startBeside(running, candidate, started -> steps.shareRequests(started, rule));
        next.tries(describe(settings, rollbackIf));
        trials.put(running.symbolicName(), new Trial(running, next, rollbackIf, new AtomicBoolean()));
        LOG.info("{} gets {}, beside {}", candidate, next.share(), running.jar());
        if (check == null) {
            check = new PeriodicCheck(machine, "waybill-canary-watch", CHECK_INTERVAL, this::checkRules);
        }
        return next;
    }

    private void requirePossible(BundleSlot running, StagedJar candidate) throws BundleRefusedException {
        if (candidate.version().equals(running.jar().version())) {
            throw new BundleRefusedException(
                    Reason.FAILED,
                    candidate + " can't be a canary: expected another version than the running one, found the same;"
                            + " build it with another Bundle-Version");
        }
        if (!steps.canStartBeside(running, candidate)) {
            throw new BundleRefusedException(
                    Reason.FAILED,
                    candidate + " can't be a canary: expected two versions that can run at the same time, found that it"
                            + " or " + running.jar() + " is exclusive, or not active; update without --canary");
        }
    }

    private static String describe(Canary settings, Optional<RollbackRule> rollbackIf) {
        return settings.percent() + "%"
                + settings.operation().map(key -> " of " + key).orElse("")
                + settings.caller().map(name -> " from " + name).orElse("")
                + rollbackIf.map(rule -> ", unless " + rule).orElse("");
    }

    /** Lets the next version serve all requests. */
    BundleSlot promote(String symbolicName) throws BundleRefusedException {
        Trial trial = require(symbolicName);
        if (!trial.next.isStarted() || !trial.isOver.compareAndSet(false, true)) {
            throw new BundleRefusedException(
                    Reason.FAILED,
                    trial.next.jar() + " does not run any more, or is being rolled back; waybill"
                            + " bundle rollback removes it");
        }
        try {
            steps.replaceHandlers(trial.running.bundle, trial.next.bundle);
        } catch (BundleRefusedException e) {
            trial.isOver.set(false);
            throw e;
        }
        trials.remove(symbolicName);
        trial.next.tries(null);
        trial.next.enter(State.ACTIVE);
        replacement.replaced(trial.running, trial.next);
        return trial.next;
    }

    /** Ends the trial; the running version serves all requests. Its slot shows the reason, if there is one. */
    BundleSlot rollBack(String symbolicName, String reason) throws BundleRefusedException {
        Trial trial = require(symbolicName);
        trial.isOver.set(true);
        if (reason != null) {
            trial.running.failed(trial.next.jar() + " was rolled back: " + reason);
        }
        replacement.remove(trial.next);
        trials.remove(symbolicName);
        LOG.warn(
                "{} was rolled back{}: {} serves alone",
                trial.next.jar(),
                reason == null ? "" : ", because " + reason,
                trial.running.jar());
        return trial.running;
    }

    /** Ends a trial whose bundle stops or goes. */
    void endOf(String symbolicName) throws BundleRefusedException {
        if (trials.containsKey(symbolicName)) {
            rollBack(symbolicName, null);
        }
    }

    /** Fails if there is a trial: another version would come between the two. */
    void requireNone(String symbolicName) throws BundleRefusedException {
        Trial trial = trials.get(symbolicName);
        if (trial != null) {
            throw new BundleRefusedException(
                    Reason.FAILED,
                    trial.next.jar() + " is a canary beside " + trial.running.jar()
                            + "; promote it or roll it back first");
        }
    }

    private Trial require(String symbolicName) throws BundleRefusedException {
        Trial trial = trials.get(symbolicName);
        if (trial == null) {
            throw new BundleRefusedException(
                    Reason.UNKNOWN_BUNDLE,
                    "no canary of " + symbolicName + " is there; waybill bundle update --canary starts one");
        }
        return trial;
    }

    /** Returns the slots of the next versions. */
    List<BundleSlot> slots() {
        return trials.values().stream().map(Trial::next).toList();
    }

    private void checkRules() {
        trials.forEach((name, trial) -> why(trial)
                .filter(reason -> trial.isOver.compareAndSet(false, true))
                .ifPresent(reason -> {
                    steps.endShare(trial.next.bundle); // an operation that runs may take long
                    rollback.accept(name, reason);
                }));
    }

    private Optional<String> why(Trial trial) {
        if (!trial.next.isStarted()) {
            return Optional.of("it does not run any more");
        }
        BundleSteps.Ended ended = steps.ended(trial.next.bundle);
        return trial.rollbackIf.flatMap(rule -> rule.broken(ended.done(), ended.failed()));
    }

    @Override
    public void close() {
        if (check != null) {
            check.end();
        }
    }
}
