package io.waybill.cli.conformance.play;

import io.waybill.api.ErrorCode;
import io.waybill.api.LateResponse;
import io.waybill.api.Message;
import io.waybill.api.MessageHandler;
import io.waybill.api.Outbox;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Value;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Collects one value of each of several callers, and answers all of them with all values once the last one came: a parameter server's
 * barrier. Thread-safe.
 */
final class Gathering implements MessageHandler {

    private static final int MAX_CALLERS = 1024;

    private record Round(List<Value> values, List<LateResponse> responses) {}

    private final Map<Value, Round> rounds = new HashMap<>(); // guarded by this

    @Override
    public void handle(Message message, Outbox outbox) throws RejectedMessageException {
        Value name = Operations.argument(message, 0);
        Value value = Operations.argument(message, 2);
        if (!(Operations.argument(message, 1) instanceof Value.Int count)
                || count.value() < 1
                || count.value() > MAX_CALLERS) {
            throw new RejectedMessageException(
                    ErrorCode.MALFORMED_BODY, "argument 1 must be a number of callers from 1 to " + MAX_CALLERS);
        }
        Held.retain(value);
        LateResponse reply = outbox.later();
        Round full = null;
        synchronized (this) {
            Round round = rounds.computeIfAbsent(name, key -> new Round(new ArrayList<>(), new ArrayList<>()));
            round.values.add(value);
            round.responses.add(reply);
            if (round.values.size() == count.value()) {
                full = rounds.remove(name);
            }
        }
        if (full != null) {
            answer(full);
        }
    }

    private static void answer(Round round) {
        Value all = new Value.Items(round.values);
        for (LateResponse reply : round.responses) {
            reply.send(Held.retain(all));
        }
        Held.release(all);
    }
}
