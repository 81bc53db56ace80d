package io.waybill.dispatch;

import io.waybill.api.policy.AccessPolicy;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * One access policy, or what is known of it while it is away.
 *
 * <p><b>Threads.</b> Any.
 */
public final class InstalledPolicy {

    private final Provider provider;
    private final AccessPolicy policy; // null while away
    private final ClassLoader contextClassLoader;
    private final AtomicInteger inside = new AtomicInteger();
    private final AtomicBoolean failed = new AtomicBoolean();

    InstalledPolicy(Provider provider, AccessPolicy policy, ClassLoader contextClassLoader) {
        this.provider = provider;
        this.policy = policy;
        this.contextClassLoader = contextClassLoader;
    }

    InstalledPolicy away() {
        return new InstalledPolicy(provider, null, null);
    }

    /** Returns whether its bundle was stopped, is being updated, or did not start. */
    public boolean isAway() {
        return policy == null;
    }

    public Provider provider() {
        return provider;
    }

    public AccessPolicy policy() {
        return policy;
    }

    /** Returns what to set around every call of the policy. */
    public ClassLoader contextClassLoader() {
        return contextClassLoader;
    }

    /** Marks that a thread is about to ask; false when another thread has not returned from the policy. */
    public boolean enter() {
        return inside.compareAndSet(0, 1);
    }

    /** Marks that the thread returned. */
    public void leave() {
        inside.set(0);
    }

    /** Returns whether this is the first failure that is noted. */
    public boolean noteFailure() {
        return failed.compareAndSet(false, true);
    }
}
