package io.waybill.exchange;

import io.waybill.api.MessageId;
import io.waybill.api.policy.AccessPolicy;
import io.waybill.api.policy.AccessRequest;
import io.waybill.dispatch.AccessPolicies;
import io.waybill.dispatch.HandlerExecutor;
import io.waybill.dispatch.InstalledPolicy;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Asks the access policies about messages that handlers dispatch, with the sender of the outer message.
 *
 * <p>A policy that does not decide in time is counted for its bundle, and its thread is interrupted and replaced: until
 * the policy returns, it blocks that one thread, and every other message is refused.
 *
 * <p><b>Threads.</b> The threads of handlers; a policy decides about one message at a time. {@link #look} by the
 * housekeeper.
 */
final class InnerAccess {

    private static final Logger LOG = LoggerFactory.getLogger(InnerAccess.class);
    private static final long MAX_NS = AccessPolicy.MAX_MILLIS * 1_000_000L;

    private final long uid;
    private final ExchangeContext context;
    private final Queue<Question> open = new ConcurrentLinkedQueue<>();

    /**
     * Creates an object for one worker, or for a replay.
     *
     * @param uid owner of all files that requests are read from
     */
    InnerAccess(long uid, ExchangeContext context) {
        this.uid = uid;
        this.context = context;
    }

    /** Call of a policy that a thread is inside of. */
    private static final class Question {
        private final InstalledPolicy policy;
        private final AccessRequest request;
        private final HandlerExecutor executor; // executor of the thread
        private final long sinceNs;
        private final Thread thread = Thread.currentThread();
        // The next fields are guarded by this.
        private boolean late;
        private boolean decided;

        Question(InstalledPolicy policy, AccessRequest request, HandlerExecutor executor, long sinceNs) {
            this.policy = policy;
            this.request = request;
            this.executor = executor;
            this.sinceNs = sinceNs;
        }

        /** Ends the question. Returns whether the policy decided in time. */
        synchronized boolean decided() {
            decided = true;
            if (late) {
                Thread.interrupted(); // the interrupt was meant for the policy
            }
            return !late;
        }

        /** Releases other messages and threads from a policy that does not return. By the housekeeper. */
        synchronized void isLate() {
            if (late || decided) {
                return;
            }
            late = true;
            policy.isLate();
            executor.writeOff(thread);
            thread.interrupt();
            LOG.warn(
                    "The access policy of {} does not return from message {}, on {}; messages are refused until it does",
                    policy.provider(),
                    MessageId.text(request.id()),
                    thread.getName());
        }
    }

    /** Returns the text of the refusal; null when all policies allow the message. */
    String ask(InnerRequest request, AccessPolicies.Required policies) {
        AccessRequest asked = request.accessRequest(uid);
        HandlerCall outermost = context.stacks().get().outermost();
        HandlerExecutor executor = (outermost == null ? request.outerEntry() : outermost.entry()).executor();
        for (InstalledPolicy policy : policies.policies()) {
            String why = policy.enter() ? ask(policy, asked, executor) : "has not returned from an earlier decision";
            if (why != null) {
                return InstalledPolicy.refusedText(asked, "the access policy of " + policy.provider() + " " + why);
            }
        }
        return null;
    }

    private String ask(InstalledPolicy policy, AccessRequest asked, HandlerExecutor executor) {
        Question question =
                new Question(policy, asked, executor, context.clock().monotonicNs());
        open.add(question);
        String why;
        try {
            why = policy.refusal(asked);
        } finally {
            open.remove(question);
            boolean inTime = question.decided();
            policy.leave();
            if (!inTime) {
                why = "did not decide within " + AccessPolicy.MAX_MILLIS + " ms";
            }
        }
        return why;
    }

    /** Checks for policies that do not return. */
    void look() {
        for (Question question : open) {
            if (context.clock().monotonicNs() - question.sinceNs > MAX_NS) {
                question.isLate();
            }
        }
    }
}
