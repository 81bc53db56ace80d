package io.waybill.home;

import io.waybill.api.WorkerInfo;
import io.waybill.home.identity.Groups;
import io.waybill.home.identity.Reachability;
import java.util.Map;

/**
 * Options of a join.
 *
 * @param id wanted id, or {@link #ANY_ID}
 * @param version version of the broker, to publish
 * @param unseen policy when the name's last process is not visible from here
 * @param lockWaitNs max time to wait for a holder that is about to end
 * @param reachability route by which other workers reach this one
 * @param groups groups of the worker
 * @param published settings that the worker's first record shows
 */
public record JoinOptions(
        int id,
        String version,
        Unseen unseen,
        long lockWaitNs,
        Reachability reachability,
        Groups groups,
        Map<String, String> published) {
    /** Value for the id that the name has, or the lowest free one. */
    public static final int ANY_ID = Claims.ANY_ID;

    private static final long LOCK_WAIT_NS_DEFAULT = 2_000_000_000L;

    /** Policy for a name whose last worker ran in another pid namespace, so that its liveness is unknown. */
    public enum Unseen {
        /** Treats the worker as alive. */
        REFUSE,
        /** Trusts the lock, which is the kernel's and free; for containers that start again over one home. */
        TRUST_LOCK
    }

    public JoinOptions {
        published = Map.copyOf(published);
        if (id != ANY_ID && (id < 0 || id > WorkerInfo.MAX_ID)) {
            throw new IllegalArgumentException("worker id must be from 0 to " + WorkerInfo.MAX_ID + ": " + id);
        }
        if (lockWaitNs < 0) {
            throw new IllegalArgumentException("lock wait must not be negative: " + lockWaitNs);
        }
    }

    public JoinOptions(int id, String version, Unseen unseen, long lockWaitNs) {
        this(id, version, unseen, lockWaitNs, Reachability.LOCAL, Groups.NONE, Map.of());
    }

    public static JoinOptions defaults() {
        return new JoinOptions(ANY_ID, "unknown", Unseen.REFUSE, LOCK_WAIT_NS_DEFAULT);
    }

    public JoinOptions withId(int wanted) {
        return new JoinOptions(wanted, version, unseen, lockWaitNs, reachability, groups, published);
    }

    public JoinOptions withVersion(String shown) {
        return new JoinOptions(id, shown, unseen, lockWaitNs, reachability, groups, published);
    }

    public JoinOptions withUnseen(Unseen rule) {
        return new JoinOptions(id, version, rule, lockWaitNs, reachability, groups, published);
    }

    public JoinOptions withLockWaitNs(long waitNs) {
        return new JoinOptions(id, version, unseen, waitNs, reachability, groups, published);
    }

    public JoinOptions withReachability(Reachability shown) {
        return new JoinOptions(id, version, unseen, lockWaitNs, shown, groups, published);
    }

    public JoinOptions withGroups(Groups shown) {
        return new JoinOptions(id, version, unseen, lockWaitNs, reachability, shown, published);
    }

    public JoinOptions withPublished(Map<String, String> shown) {
        return new JoinOptions(id, version, unseen, lockWaitNs, reachability, groups, shown);
    }
}
