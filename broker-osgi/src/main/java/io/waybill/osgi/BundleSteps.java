package io.waybill.osgi;

import io.waybill.api.policy.AccessPolicy;
import io.waybill.api.policy.BundleCandidate.Origin;
import io.waybill.api.policy.BundlePolicy;
import io.waybill.api.policy.Decision;
import io.waybill.dispatch.AccessPolicies;
import io.waybill.dispatch.CanaryRule;
import io.waybill.dispatch.HandlerStatus;
import io.waybill.dispatch.KeyClaimedException;
import io.waybill.host.Threads;
import io.waybill.host.failure.ForeignErrors;
import io.waybill.osgi.ComponentCheck.Obstacles;
import io.waybill.osgi.guard.StartLevels;
import io.waybill.osgi.jar.BundleRefusedException;
import io.waybill.osgi.jar.BundleRefusedException.Reason;
import io.waybill.osgi.jar.ComponentDeclaration;
import io.waybill.osgi.jar.StagedJar;
import io.waybill.osgi.jar.Staging;
import io.waybill.osgi.whiteboard.RequiredBundlePolicy;
import io.waybill.osgi.whiteboard.ServiceWhiteboards;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleContext;
import org.osgi.framework.BundleException;
import org.osgi.framework.FrameworkEvent;
import org.osgi.framework.wiring.BundleWiring;
import org.osgi.framework.wiring.FrameworkWiring;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Steps of operations on bundles, each with a time limit and an error text for operators.
 *
 * <p><b>Threads.</b> One operation at a time; {@link BundleControl} ensures that.
 */
final class BundleSteps {

    private static final Duration REFRESH_LIMIT = Duration.ofSeconds(30);
    private static final long RETRY_NS = 10_000_000;

    private static final Logger LOG = LoggerFactory.getLogger(BundleSteps.class);

    private final BundleContext context;
    private final Threads threads;
    private final FrameworkWiring wiring;
    private final Resolution resolution;
    private final BoundedStep bounded;
    private final ComponentCheck components;
    private final ConfigurationKeys keys;
    private final ServiceWhiteboards services;
    private final Dependents dependents;
    private final AccessPolicies policies;
    private final LoaderWatch loaders;
    private final OsgiSettings settings;
    private final AtomicLong count = new AtomicLong();

    BundleSteps(
            BundleContext context,
            OsgiSettings settings,
            Threads threads,
            ComponentCheck components,
            ConfigurationKeys keys,
            ServiceWhiteboards services,
            AccessPolicies policies,
            LoaderWatch loaders) {
        this.context = context;
        this.threads = threads;
        this.wiring = context.getBundle(0).adapt(FrameworkWiring.class);
        this.resolution = new Resolution(wiring);
        this.bounded = new BoundedStep(threads);
        this.settings = settings;
        this.components = components;
        this.keys = keys;
        this.services = services;
        this.dependents = new Dependents(context);
        this.policies = policies;
        this.loaders = loaders;
    }

    /** Fails unless all bundle policies allow a jar. */
    void requireAllowed(StagedJar jar, Optional<StagedJar> installed, Origin origin) throws BundleRefusedException {
        for (RequiredBundlePolicy policy : services.bundlePolicies().all()) {
            if (policy.isAway()) {
                throw new BundleRefusedException(
                        Reason.POLICY_AWAY,
                        jar + " is not installed: the bundle policy of " + policy.provider()
                                + " is away; start its bundle, or uninstall it; if it is in no list, remove its jar and"
                                + " restart the node");
            }
            String refusal = refusal(policy, new JarCandidate(jar, installed, origin));
            if (refusal != null) {
                throw new BundleRefusedException(
                        Reason.NOT_ALLOWED,
                        jar + " is not installed: the bundle policy of " + policy.provider() + " " + refusal);
            }
        }
    }

    /** Returns why a policy refuses a jar; null when it allows it. */
    private String refusal(RequiredBundlePolicy policy, JarCandidate candidate) throws BundleRefusedException {
        AtomicReference<Optional<String>> refusal = new AtomicReference<>();
        BoundedStep.Ended ended =
                bounded.run("bundle policy of " + policy.provider().name(), settings.startLimit(), () -> {
                    Thread.currentThread().setContextClassLoader(policy.contextClassLoader());
                    refusal.set(Optional.ofNullable(decide(policy, candidate)));
                });
        return ended == BoundedStep.Ended.IN_TIME
                ? refusal.get().orElse(null)
                : "did not decide within " + settings.startLimit().toMillis() + " ms";
    }

    private static String decide(RequiredBundlePolicy policy, JarCandidate candidate) {
        if (!policy.inside().compareAndSet(false, true)) {
            return "has not returned from an earlier decision; uninstall its bundle";
        }
        try {
            Decision decision = policy.policy().decide(candidate);
            if (decision == null) {
                return "returned no decision";
            }
            return decision.isAllowed() ? null : "refuses it: " + decision.reason();
        } catch (Throwable e) { // the boundary around a bundle's code
            ForeignErrors.warn(LOG, "The bundle policy of " + policy.provider() + " failed", e);
            return "failed: " + ForeignErrors.describe(e);
        } finally {
            policy.inside().set(false);
        }
    }

    Bundle install(StagedJar jar, int startLevel) throws BundleRefusedException {
        Bundle bundle = installAt("waybill:" + jar.symbolicName() + "#" + count.incrementAndGet(), jar);
        StartLevels.set(bundle, startLevel);
        return bundle;
    }

    void resolve(Bundle bundle, StagedJar jar) throws BundleRefusedException {
        resolution.resolve(bundle, jar);
    }

    /** Fails unless the jar would resolve in place of the bundle of its name. Reverts all changes. */
    void tryResolve(StagedJar jar) throws BundleRefusedException {
        Bundle candidate = installAt(CandidateHook.location(jar.symbolicName(), count.incrementAndGet()), jar);
        try {
            resolution.resolve(candidate, jar);
        } finally {
            try {
                candidate.uninstall();
                refresh(candidate);
            } catch (BundleException e) {
                throw failed("a trial copy of " + jar + " can't be removed", e);
            }
        }
    }

    /** Starts a resolved bundle whose components may still lack dependencies: see {@link #obstacles}. */
    void begin(Bundle bundle) throws BundleRefusedException {
        services.problems().forget(bundle);
        String name = bundle.getSymbolicName();
        BoundedStep.Ended ended = bounded.run("start " + name, settings.startLimit(), () -> bundle.start());
        if (ended != BoundedStep.Ended.IN_TIME) {
            throw new BundleRefusedException(
                    ended == BoundedStep.Ended.NEVER ? Reason.HUNG : Reason.START_FAILED,
                    name + " did not start within " + settings.startLimit().toMillis() + " ms");
        }
    }

    /** Returns the obstacles of a started bundle, after a limited wait for missing dependencies. */
    Obstacles obstacles(Bundle bundle, Duration limit) {
        return components.obstacles(bundle, limit);
    }

    /** Max time for components to become satisfied. */
    Duration activationLimit() {
        return settings.activationLimit();
    }

    /** Records that a started bundle has no obstacles. */
    void completed(Bundle bundle) {
        keys.check(bundle);
        policies.completed(bundle.getSymbolicName());
        services.bundlePolicies().completed(bundle.getSymbolicName());
    }

    /** Stops a bundle after its running requests have completed or the drain limit has passed. */
    void stop(Bundle bundle) throws BundleRefusedException {
        if (bundle.getState() != Bundle.ACTIVE && bundle.getState() != Bundle.STARTING) {
            return;
        }
        Duration limit = settings.drainLimit().plus(settings.startLimit());
        String name = bundle.getSymbolicName();
        try {
            if (bounded.run("stop " + name, limit, () -> drainAndStop(bundle)) == BoundedStep.Ended.NEVER) {
                throw new BundleRefusedException(
                        Reason.HUNG, name + " did not stop within " + limit.toMillis() + " ms");
            }
        } catch (BundleRefusedException e) {
            if (e.reason() == Reason.HUNG || bundle.getState() == Bundle.ACTIVE) {
                throw e;
            }
            // It threw while stopping, but is stopped according to the framework's contract.
        }
    }

    /**
     * Drains all services of a bundle, then stops it. The framework would remove its services one after the other, so
     * requests in flight could not use the removed ones.
     */
    private void drainAndStop(Bundle bundle) throws BundleException {
        services.drain(bundle, dependents.of(bundle));
        try {
            bundle.stop();
        } finally {
            services.stopped(bundle);
        }
    }

    /** Returns whether the new version of a bundle can start while the old one serves. */
    boolean canStartBeside(BundleSlot running, StagedJar candidate) {
        return SideBySide.isPossible(running, services, candidate);
    }

    /** Holds the handlers of a bundle, which starts beside its running version, until {@link #replaceHandlers}. */
    void holdHandlers(Bundle next) {
        services.holdHandlers(next);
    }

    /** Gives the handlers of a started bundle a share of the requests of its running version. */
    void shareRequests(Bundle next, CanaryRule rule) throws BundleRefusedException {
        try {
            services.shareRequests(next, rule);
        } catch (KeyClaimedException e) {
            throw new BundleRefusedException(Reason.START_FAILED, e.getMessage(), e);
        }
    }

    /** Ends {@link #shareRequests}. Requests that have begun still complete. */
    void endShare(Bundle next) {
        services.endShare(next);
    }

    /** Numbers of requests that the handlers of a bundle have ended. */
    record Ended(long done, long failed) {}

    Ended ended(Bundle bundle) {
        List<HandlerStatus> statuses = services.handlersOf(bundle);
        return new Ended(
                statuses.stream().mapToLong(HandlerStatus::done).sum(),
                statuses.stream().mapToLong(HandlerStatus::failed).sum());
    }

    /** Lets the handlers of a bundle serve in place of those of its running version, by one write. */
    void replaceHandlers(Bundle old, Bundle next) throws BundleRefusedException {
        try {
            services.replaceHandlers(old, next);
        } catch (KeyClaimedException e) {
            throw new BundleRefusedException(Reason.START_FAILED, e.getMessage(), e);
        }
    }

    /** Makes calls wait for a new version of a bundle's interceptors and converters while they are missing. */
    void replacing(String symbolicName) {
        services.replacing(symbolicName);
    }

    /** Reverts {@link #replacing}. */
    void replaced(String symbolicName) {
        services.replaced(symbolicName);
    }

    /** Replaces the jar of a stopped bundle, which must be resolved again afterwards. */
    void update(Bundle bundle, StagedJar jar) throws BundleRefusedException {
        Retiring old = retiring(bundle);
        try (InputStream in = jar.open()) {
            bundle.update(in);
        } catch (IOException | BundleException e) {
            throw failed(bundle.getSymbolicName() + " can't be updated to " + jar, e);
        }
        refresh(bundle);
        old.retire();
    }

    /** Removes a stopped bundle, and lifts its policies. */
    void uninstall(Bundle bundle) throws BundleRefusedException {
        remove(bundle);
        lift(bundle.getSymbolicName());
    }

    /** Lifts the policies of a bundle that another one has uninstalled. */
    void forget(Bundle gone) {
        services.forget(gone);
        lift(gone.getSymbolicName());
    }

    private void lift(String symbolicName) {
        policies.forget(symbolicName);
        services.bundlePolicies().forget(symbolicName);
    }

    /** Requires the policies that a jar declares, whose bundle is away. */
    void requirePoliciesIn(Path jar) {
        ComponentDeclaration.in(jar, AccessPolicy.class).ifPresent(policies::require);
        ComponentDeclaration.in(jar, BundlePolicy.class)
                .map(RequiredBundlePolicy::away)
                .ifPresent(services.bundlePolicies()::require);
    }

    List<RequiredBundlePolicy> bundlePolicies() {
        return services.bundlePolicies().all();
    }

    /** Returns whether requests or jars wait for policies of a bundle, or are checked by them. */
    boolean requiresPoliciesOf(String symbolicName) {
        AccessPolicies.Required now = policies.current();
        boolean decidesBundles = services.bundlePolicies().all().stream()
                .anyMatch(policy -> policy.provider().name().equals(symbolicName));
        return decidesBundles
                || now != null
                        && now.policies().stream()
                                .anyMatch(policy -> policy.provider().name().equals(symbolicName));
    }

    /** Removes a stopped bundle. Its policies remain required. */
    void remove(Bundle bundle) throws BundleRefusedException {
        Retiring old = retiring(bundle);
        try {
            bundle.uninstall();
        } catch (BundleException e) {
            throw failed(bundle.getSymbolicName() + " can't be uninstalled", e);
        }
        refresh(bundle);
        old.retire();
        services.forget(bundle);
    }

    /**
     * Schedules the removal of a bundle for the return of its own start or stop, which locks the bundle in the
     * framework. Does not wait.
     */
    void uninstallWhenReturned(Bundle bundle) {
        Retiring old = retiring(bundle);
        old.retire();
        services.forget(bundle);
        lift(old.name);
        threads.startWhenPossible("uninstall " + old.name, () -> {
            while (bundle.getState() != Bundle.UNINSTALLED && isRunning()) { // an interrupt ends the framework's wait
                try {
                    bundle.uninstall();
                } catch (BundleException | IllegalStateException e) {
                    LOG.debug("{} {} was not uninstalled", old.name, old.version, e);
                    Thread.interrupted();
                    threads.pause(RETRY_NS);
                }
            }
        });
    }

    private boolean isRunning() {
        int state = wiring.getBundle().getState();
        return state == Bundle.ACTIVE || state == Bundle.STARTING;
    }

    private Bundle installAt(String location, StagedJar jar) throws BundleRefusedException {
        try (InputStream in = jar.open()) {
            return context.installBundle(location, in);
        } catch (IOException | BundleException e) {
            throw new BundleRefusedException(Reason.NO_BUNDLE, jar + " can't be installed: " + why(e), e);
        }
    }

    /**
     * Releases the former content of a bundle after its update or removal. Bundles that used its packages are restarted
     * with the new ones.
     */
    private void refresh(Bundle bundle) throws BundleRefusedException {
        CountDownLatch refreshed = new CountDownLatch(1);
        wiring.refreshBundles(List.of(bundle), event -> {
            if (event.getType() == FrameworkEvent.PACKAGES_REFRESHED) {
                refreshed.countDown();
            }
        });
        try {
            if (!refreshed.await(REFRESH_LIMIT.toNanos(), TimeUnit.NANOSECONDS)) {
                throw new BundleRefusedException(
                        Reason.FAILED,
                        "the framework did not let go of " + bundle.getSymbolicName() + " within "
                                + REFRESH_LIMIT.toSeconds() + " s");
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new BundleRefusedException(Reason.FAILED, "interrupted", e);
        }
    }

    private Retiring retiring(Bundle bundle) {
        Optional<ClassLoader> loader =
                Optional.ofNullable(bundle.adapt(BundleWiring.class)).map(BundleWiring::getClassLoader);
        return new Retiring(bundle.getSymbolicName(), bundle.getVersion().toString(), loader);
    }

    /** Class loader that is about to be released. */
    private final class Retiring {
        private final String name;
        private final String version;
        private final Optional<ClassLoader> loader;

        Retiring(String name, String version, Optional<ClassLoader> loader) {
            this.name = name;
            this.version = version;
            this.loader = loader;
        }

        void retire() {
            loader.ifPresent(gone -> loaders.retire(name, version, gone));
        }
    }

    private BundleRefusedException failed(String what, Exception e) {
        return new BundleRefusedException(Reason.FAILED, what + ": " + why(e), e);
    }

    private String why(Exception e) {
        return BoundedStep.innermost(e) + Staging.whyNoDirectory(settings.cache());
    }
}
