package io.waybill.query;

import io.waybill.api.MessageType;
import java.util.Optional;

/**
 * Which messages are wanted. Immutable.
 *
 * @param worker id of the worker whose journal has them
 * @param peer id of the worker at the other end
 * @param operation a name, or the start of one with {@code *} behind it
 * @param sinceNs sent at or after this time, in ns since 1970
 * @param untilNs sent before this time
 * @param outcome what became of them
 */
public record MessageFilter(
        Optional<Integer> worker,
        Optional<Integer> peer,
        Optional<MessageType> type,
        Optional<String> operation,
        long sinceNs,
        long untilNs,
        Optional<StoredCall.Outcome> outcome) {

    /** All messages. */
    public static final MessageFilter ALL = new MessageFilter(
            Optional.empty(),
            Optional.empty(),
            Optional.empty(),
            Optional.empty(),
            Long.MIN_VALUE,
            Long.MAX_VALUE,
            Optional.empty());

    boolean takesWorker(int id) {
        return worker.isEmpty() || worker.get() == id;
    }

    /** Whether a header is of a message that is wanted, as far as a header tells. */
    boolean takes(int to, MessageType itsType, long sentNs) {
        return (peer.isEmpty() || peer.get() == to)
                && (type.isEmpty() || type.get() == itsType)
                && sentNs >= sinceNs
                && sentNs < untilNs;
    }

    boolean takesOperation(Optional<String> name) {
        if (operation.isEmpty()) {
            return true;
        }
        String wanted = operation.get();
        return wanted.endsWith("*")
                ? name.isPresent() && name.get().startsWith(wanted.substring(0, wanted.length() - 1))
                : name.isPresent() && name.get().equals(wanted);
    }

    boolean takesOutcome(StoredCall.Outcome itsOutcome) {
        return outcome.isEmpty() || outcome.get() == itsOutcome;
    }
}
