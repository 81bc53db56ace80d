package io.waybill.dispatch;

import io.waybill.api.MessageId;
import io.waybill.api.context.CallContext;
import io.waybill.api.context.ContextScope;
import io.waybill.api.context.ThreadContext;
import io.waybill.api.policy.AccessPolicy;
import io.waybill.api.policy.AccessRequest;
import io.waybill.api.policy.Decision;
import io.waybill.host.Threads;
import io.waybill.host.failure.ForeignErrors;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Access policy of a provider, or the known facts about it while it is away.
 *
 * <p><b>Threads.</b> Any.
 */
public final class InstalledPolicy implements RequiredPolicies.Policy<InstalledPolicy> {

    private static final Logger LOG = LoggerFactory.getLogger(InstalledPolicy.class);

    private final Provider provider;
    private final AccessPolicy policy; // null while away
    private final ClassLoader contextClassLoader;
    private final ProviderErrors errors;
    private final Threads threads;
    private final Semaphore free = new Semaphore(1);
    private volatile boolean
            late; // set by a thread that waited without success, cleared by the one inside when it returns
    private final AtomicBoolean failed = new AtomicBoolean();
    private final boolean decidesControl;

    InstalledPolicy(
            Provider provider,
            AccessPolicy policy,
            ClassLoader contextClassLoader,
            ProviderErrors errors,
            Threads threads) {
        this.errors = errors;
        this.threads = threads;
        this.provider = provider;
        this.policy = policy;
        this.contextClassLoader = contextClassLoader;
        this.decidesControl = policy != null && decidesControl(policy);
    }

    /** Asks the policy whether it decides about control calls; one that fails to say so does. */
    private boolean decidesControl(AccessPolicy asked) {
        try {
            return inside(asked::decidesControlCalls);
        } catch (Throwable e) { // foreign code
            errors.charge(provider);
            ForeignErrors.warn(
                    LOG,
                    "The access policy of " + provider
                            + " failed to say whether it decides about control calls, and is asked about them",
                    e);
            return true;
        }
    }

    /** Calls the policy as its bundle expects: with its class loader, in no call's context, and not interrupted. */
    private <T> T inside(Supplier<T> call) {
        Thread thread = Thread.currentThread();
        ClassLoader before = thread.getContextClassLoader();
        ThreadContext current = ThreadContext.own();
        ContextScope outside = current.enter(CallContext.EMPTY);
        thread.setContextClassLoader(contextClassLoader);
        boolean pending = Threads.hideInterrupt();
        try {
            return call.get();
        } finally {
            Threads.restoreInterrupt(pending);
            thread.setContextClassLoader(before);
            current.leave(outside);
        }
    }

    /** Returns whether it is there and decides about control calls. */
    public boolean decidesControl() {
        return decidesControl;
    }

    @Override
    public InstalledPolicy away() {
        return new InstalledPolicy(provider, null, null, errors, threads);
    }

    @Override
    public boolean isAway() {
        return policy == null;
    }

    @Override
    public Provider provider() {
        return provider;
    }

    /**
     * Marks that a thread is about to ask; waits while another thread is inside, up to the max time of a decision.
     *
     * @return false when another thread has not returned from the policy
     */
    public boolean enter() {
        if (free.tryAcquire()) {
            return true;
        }
        if (late) {
            return false;
        }
        boolean entered = threads.await(this::acquire, TimeUnit.MILLISECONDS.toNanos(AccessPolicy.MAX_MILLIS));
        if (!entered) {
            isLate();
        }
        return entered;
    }

    private boolean acquire(long maxNs) {
        try {
            return free.tryAcquire(maxNs, TimeUnit.NANOSECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    /** Marks that the thread returned. */
    public void leave() {
        late = false;
        free.release();
    }

    /** Marks that the thread inside has not returned in time, and counts this once: the others do not wait for it. */
    public synchronized void isLate() {
        if (!late) {
            late = true;
            errors.charge(provider);
        }
    }

    /**
     * Asks the policy, between {@link #enter} and {@link #leave}. Does not throw.
     *
     * @return reason why the policy refuses the request; null when it allows it
     */
    public String refusal(AccessRequest request) {
        Throwable thrown = null;
        try {
            Decision decision = inside(() -> policy.decide(request));
            if (decision != null) {
                return decision.isAllowed() ? null : "denied it: " + decision.reason();
            }
        } catch (Throwable e) { // the boundary around a policy: anything it throws costs this request only
            thrown = e;
        }
        errors.charge(provider);
        if (failed.compareAndSet(false, true)) {
            String text = "The access policy of " + provider + " failed on request " + MessageId.text(request.id())
                    + ", which is refused";
            if (thrown == null) {
                LOG.warn("{}: it returned null", text);
            } else {
                ForeignErrors.warn(LOG, text, thrown);
            }
        }
        return thrown == null ? "returned no decision" : "failed: " + ForeignErrors.describe(thrown);
    }

    /** Returns the text of a refusal. */
    public static String refusedText(AccessRequest request, String why) {
        return request.operation() + " is refused to worker " + request.workerName() + " (id " + request.worker()
                + ", uid " + request.uid() + "): " + why;
    }
}
