package io.waybill.worker.reference;

import io.waybill.api.ErrorCode;
import io.waybill.api.Message;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Value;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.handler.Outbox;
import io.waybill.rref.References;
import io.waybill.rref.id.ForkId;
import io.waybill.rref.id.RRefId;
import io.waybill.rref.status.ReferenceStatus;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * Responds the control operation that lists a worker's references.
 *
 * <pre>
 * control:rrefs.list  limit  {references: [{part, rref, fork, peer, epoch, state, handles, kept, type}], left_out,
 *                             counters: {num_owner_rrefs, num_forks, num_pending_users, num_pending_futures}}
 * </pre>
 *
 * Every worker that serves has it, with or without bundles. Ids are texts such as {@code 3.1041}: the worker that
 * created it, and its counter.
 *
 * <p><b>Threads.</b> Thread-safe.
 */
final class ReferenceListing implements MessageHandler {

    static final String NAME = "rrefs.list";
    private static final int MAX_LIMIT = 10_000;

    private final References references;

    ReferenceListing(References references) {
        this.references = references;
    }

    @Override
    public void handle(Message message, Outbox outbox) throws RejectedMessageException {
        long limit = message.int64("limit");
        if (limit < 0 || limit > MAX_LIMIT) {
            throw new RejectedMessageException(
                    ErrorCode.REFUSED, "limit must be 0.." + MAX_LIMIT + ", the max lines of one response: " + limit);
        }
        List<ReferenceStatus> all = references.statuses();
        List<ReferenceStatus> shown = all.subList(0, (int) Math.min(limit, all.size()));
        outbox.response()
                .value(
                        "references",
                        new Value.Items(
                                shown.stream().map(ReferenceListing::value).toList()))
                .int64("left_out", all.size() - shown.size())
                .value("counters", counters());
    }

    private Value counters() {
        Map<Value, Value> fields = new LinkedHashMap<>();
        references.counters().debugInfo().forEach((name, count) -> put(fields, name, Value.of(Long.parseLong(count))));
        return new Value.Dict(fields);
    }

    private static Value value(ReferenceStatus status) {
        Map<Value, Value> fields = new LinkedHashMap<>();
        put(fields, "part", Value.of(status.part().name().toLowerCase(Locale.ROOT)));
        put(fields, "rref", Value.of(text(status.rref())));
        put(fields, "fork", Value.of(text(status.fork())));
        put(fields, "peer", Value.of(status.peer().worker()));
        put(fields, "generation", Value.of(status.peer().epoch()));
        put(fields, "state", Value.of(status.state()));
        put(fields, "handles", Value.of(status.handles()));
        put(fields, "kept", Value.of(status.kept()));
        put(fields, "type", Value.of(status.type()));
        return new Value.Dict(fields);
    }

    private static String text(RRefId id) {
        return id.createdOn() + "." + id.localId();
    }

    private static String text(ForkId id) {
        return id.createdOn() + "." + id.localId();
    }

    private static void put(Map<Value, Value> fields, String name, Value value) {
        fields.put(Value.of(name), value);
    }
}
