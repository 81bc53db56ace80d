package io.waybill.testing;

import io.waybill.api.MessageId;
import io.waybill.replay.compare.ReplayedCall;
import io.waybill.replay.compare.Verdict;
import java.util.Locale;
import java.util.Optional;

/** Describes the difference of a replayed call. Stateless. */
final class DifferentCall {

    private DifferentCall() {}

    /** Describes the difference in one line; empty when the response equals the recorded one. */
    static Optional<String> describe(ReplayedCall call) {
        return call.results().stream()
                .filter(result -> result.verdict() != Verdict.SAME)
                .findFirst()
                .map(result -> "call " + MessageId.text(call.call().id()) + " of " + call.operation() + ", "
                        + result.verdict().name().toLowerCase(Locale.ROOT).replace('_', ' ') + ": " + result.reason());
    }
}
