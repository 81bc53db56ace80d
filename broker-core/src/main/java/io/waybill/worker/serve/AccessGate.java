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
import io.waybill.wire.RecordView;
import io.waybill.worker.poll.PollPermit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Asks the access policies about requests. A policy is foreign: what it throws refuses the request, and while it does not return
 * another thread takes over the permit and refuses the request in its place.
 *
 * <p><b>Threads.</b> Belongs to the holder of the {@link PollPermit}, except where stated.
 */
public final class AccessGate {

    /** Key under which requests park that wait for a policy. */
    static final HandlerKey UNDECIDED = new HandlerKey.OfControl("access-policy");

    private static final Logger LOG = LoggerFactory.getLogger(AccessGate.class);

    private final AccessPolicies policies;
    private final PollPermit permit;
    private final long uid;
    // What a policy is being asked about, for who takes the permit from a thread that does not return.
    private PeerRequest asking;
    private InstalledPolicy asked;

    /** What becomes of a request. */
    enum Verdict {
        ALLOWED,
        /** It was responded to. */
        REFUSED,
        /** A policy is away. */
        WAITS,
        /** The policy did not return in time; the request belongs to another thread. */
        PERMIT_LOST
    }

    /** @param uid owner of all files that requests are read from */
    public AccessGate(AccessPolicies policies, PollPermit permit, long uid) {
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
    Verdict ask(PeerRequest exchange, boolean behindOthers) {
        AccessPolicies.Required now = policies.current();
        if (now == null && !behindOthers || !isAskedAbout(exchange.view().typeCode())) {
            return Verdict.ALLOWED;
        }
        return behindOthers || !now.isComplete() ? Verdict.WAITS : ask(exchange, now);
    }

    /** Control messages can remove a policy that refuses everything; those of references only keep counts in step. */
    private static boolean isAskedAbout(int typeCode) {
        return typeCode <= (MessageType.LAST_USER_KIND | MessageType.REQUEST_FLAG)
                && (!Route.isOfReferences(typeCode) || typeCode == MessageType.SCRIPT_RREF_FETCH_CALL.code());
    }

    private Verdict ask(PeerRequest exchange, AccessPolicies.Required now) {
        AccessRequest request = request(exchange);
        for (InstalledPolicy policy : now.policies()) {
            if (!policy.enter()) {
                refuse(exchange, policy, "has not returned from an earlier decision");
                return Verdict.REFUSED;
            }
            asking = exchange;
            asked = policy;
            long entered = permit.enterForeign();
            String why;
            try {
                why = policy.refusal(request);
            } finally {
                policy.leave();
            }
            if (!permit.leaveForeign(entered)) {
                return Verdict.PERMIT_LOST;
            }
            asking = null;
            asked = null;
            if (why != null) {
                refuse(exchange, policy, why);
                return Verdict.REFUSED;
            }
        }
        return Verdict.ALLOWED;
    }

    private AccessRequest request(PeerRequest exchange) {
        RecordView view = exchange.view();
        return new AccessRequest(
                exchange.link().id(),
                exchange.link().name(),
                uid,
                view.type(),
                Route.called(view),
                view.id(),
                exchange.link().isSelf());
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
    void refuseUndecided(PeerRequest exchange, String why) {
        AccessPolicies.Required now = policies.current();
        refuse(exchange, "the access policy of " + (now == null ? "a bundle" : now.away()) + " is away, and " + why);
    }

    private void refuse(PeerRequest exchange, InstalledPolicy policy, String why) {
        refuse(exchange, "the access policy of " + policy.provider() + " " + why);
    }

    private void refuse(PeerRequest exchange, String why) {
        exchange.refuse(ErrorCode.ACCESS_DENIED, InstalledPolicy.refusedText(request(exchange), why));
    }
}
