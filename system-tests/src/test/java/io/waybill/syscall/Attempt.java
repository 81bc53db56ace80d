package io.waybill.syscall;

import io.waybill.journal.Durability;
import java.nio.file.Path;

/**
 * One run of a scenario.
 *
 * @param old a peer in the process of the test, which joined before
 */
record Attempt(Subject subject, Path home, Durability durability, Member old, Verdict verdict) {

    /** The name of the peer. */
    static final String OLD = "old";

    /** Joins the subject's worker. Returns whether it did; else the verdict has the reason. */
    boolean join() throws Exception {
        String joined = subject.join(home, durability);
        if (!joined.equals("joined")) {
            verdict.reasons.add("join " + joined);
        }
        return joined.equals("joined");
    }

    /** Lets the subject's worker leave. The verdict has the reason why it stopped before, or does not leave. */
    void leave() throws Exception {
        String failure = subject.failure();
        if (!failure.isEmpty()) {
            verdict.reasons.add("stopped " + failure);
        }
        String left = subject.leave();
        if (!left.equals("ended")) {
            verdict.reasons.add("leave " + left);
        }
    }
}
