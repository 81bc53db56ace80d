package io.waybill.worker.inner;

import io.waybill.api.policy.AccessRequest;
import io.waybill.dispatch.AccessPolicies;
import io.waybill.dispatch.InstalledPolicy;
import io.waybill.handling.Route;
import io.waybill.wire.RecordView;

/**
 * Asks the access policies about messages that handlers dispatch, with the sender of the outer message.
 *
 * <p><b>Threads.</b> Any; a policy decides about one at a time.
 */
final class InnerAccess {

    private final long uid;

    /** @param uid owner of all files that requests are read from */
    InnerAccess(long uid) {
        this.uid = uid;
    }

    /** Returns the text of the refusal; null when all policies allow the message. */
    String ask(InnerRequest request, AccessPolicies.Required policies) {
        RecordView view = request.view();
        AccessRequest asked = new AccessRequest(
                view.from(),
                request.outer().senderName(),
                uid,
                view.type(),
                Route.called(view),
                view.id(),
                request.outer().isFromSelf());
        for (InstalledPolicy policy : policies.policies()) {
            String why = "has not returned from an earlier decision";
            if (policy.enter()) {
                try {
                    why = policy.refusal(asked);
                } finally {
                    policy.leave();
                }
            }
            if (why != null) {
                return InstalledPolicy.refusedText(asked, "the access policy of " + policy.provider() + " " + why);
            }
        }
        return null;
    }
}
