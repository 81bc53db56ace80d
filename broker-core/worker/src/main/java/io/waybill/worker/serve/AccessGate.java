package io.waybill.worker.serve;

import io.waybill.api.ErrorCode;
import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.api.policy.AccessPolicy;
import io.waybill.api.policy.AccessRequest;
import io.waybill.dispatch.AccessPolicies;
import io.waybill.dispatch.HandlerKey;
import io.waybill.dispatch.InstalledPolicy;
import io.waybill.handling.Route;
import io.waybill.worker.poll.PollPermit;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Asks the access policies about requests. A policy is foreign code: an exception that it throws refuses the request,
 * and while it does not return, another thread takes the permit and refuses the request in its place.
 *
 * <p><b>Threads.</b> Belongs to the holder of the {@link PollPermit}, except where stated.
 */
final class AccessGate {

    /** Key under which requests park that wait for a policy. */
    static final HandlerKey UNDECIDED = new HandlerKey.OfControl("access-policy");

    private static final Logger LOG = LoggerFactory.getLogger(AccessGate.class);

    private final AccessPolicies policies;
    private final PollPermit permit;
    private final long uid;
    // Request that a policy is being asked about, for the thread that takes the permit from a thread that does not
    // return.
    private PeerRequest asking;
    private InstalledPolicy asked;

    /** Decision about a request. */
    enum Verdict {
        ALLOWED,
        /** Refused, and responded to. */
        REFUSED,
        /** Waits: a policy is away. */
        WAITS,
        /** The policy did not return in time; the request belongs to another thread. */
        PERMIT_LOST
    }

    /** @param uid owner of all files that requests are read from */
    AccessGate(AccessPolicies policies, PollPermit permit, long uid) {
        this.policies = policies;
        this.permit = permit;
        this.uid = uid;
    }

    /** Returns whether requests that waited can be asked about, or no longer need to be. */
    boolean isOpen() {
        AccessPolicies.Required now = policies.current();
        return now == null || now.isComplete();
    }

    /** @param behindOthers whether requests that arrived earlier wait for a policy */
    Verdict ask(PeerRequest request, boolean behindOthers) {
        AccessPolicies.Required now = policies.current();
        int type = request.view().typeCode();
        if (AccessPolicies.isControl(type)) { // waits for no policy: it may start the bundle that is away
            return now == null ? Verdict.ALLOWED : ask(request, now.forControl());
        }
        if (now == null && !behindOthers || countsReferences(type)) {
            return Verdict.ALLOWED;
        }
        return behindOthers || !now.isComplete() ? Verdict.WAITS : ask(request, now.policies());
    }

    /** Returns whether a request only keeps the counts of references in step. */
    private static boolean countsReferences(int type) {
        return Route.isOfReferences(type) && type != MessageType.SCRIPT_RREF_FETCH_CALL.code();
    }

    private Verdict ask(PeerRequest request, List<InstalledPolicy> all) {
        AccessRequest about = request.accessRequest(uid);
        for (InstalledPolicy policy : all) {
            if (!policy.enter()) {
                refuse(request, policy, "has not returned from an earlier decision");
                return Verdict.REFUSED;
            }
            asking = request;
            asked = policy;
            long entered = permit.enterForeign();
            String why;
            try {
                why = policy.refusal(about);
            } finally {
                policy.leave();
            }
            if (!permit.leaveForeign(entered)) {
                return Verdict.PERMIT_LOST;
            }
            asking = null;
            asked = null;
            if (why != null) {
                refuse(request, policy, why);
                return Verdict.REFUSED;
            }
        }
        return Verdict.ALLOWED;
    }

    /** Refuses the request of a thread that lost the permit inside a policy. Called by the next holder. */
    void takeOver() {
        PeerRequest left = asking;
        if (left != null) {
            InstalledPolicy policy = asked;
            asking = null;
            asked = null;
            policy.isLate();
            LOG.warn(
                    "The access policy of {} does not return from request {}; requests are refused until it does",
                    policy.provider(),
                    MessageId.text(left.view().id()));
            refuse(left, policy, "did not decide within " + AccessPolicy.MAX_MILLIS + " ms");
        }
    }

    /** Refuses a request that can't wait, or waited for too long. */
    void refuseUndecided(PeerRequest request, String why) {
        AccessPolicies.Required now = policies.current();
        refuse(request, "the access policy of " + (now == null ? "a bundle" : now.away()) + " is away, and " + why);
    }

    private void refuse(PeerRequest request, InstalledPolicy policy, String why) {
        refuse(request, "the access policy of " + policy.provider() + " " + why);
    }

    private void refuse(PeerRequest request, String why) {
        request.response()
                .refuse(ErrorCode.ACCESS_DENIED, InstalledPolicy.refusedText(request.accessRequest(uid), why));
    }
}
