package io.waybill.worker.reference;

import io.waybill.api.ErrorCode;
import io.waybill.api.Message;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.admin.ReferenceList;
import io.waybill.api.admin.ReferenceList.ReferenceInfo;
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
 * control:rrefs.list  limit  {@link ReferenceList}
 * </pre>
 *
 * Every worker that serves has it, with or without bundles.
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
        Map<String, Long> counters = new LinkedHashMap<>();
        references.counters().debugInfo().forEach((name, count) -> counters.put(name, Long.valueOf(count)));
        List<ReferenceInfo> infos = shown.stream().map(ReferenceListing::info).toList();
        outbox.response().fields(new ReferenceList(infos, all.size() - shown.size(), counters));
    }

    private static ReferenceInfo info(ReferenceStatus status) {
        return new ReferenceInfo(
                status.part().name().toLowerCase(Locale.ROOT),
                text(status.rref()),
                text(status.fork()),
                status.peer().worker(),
                status.peer().epoch(),
                status.state(),
                status.handles(),
                status.kept(),
                status.type());
    }

    private static String text(RRefId id) {
        return id.createdOn() + "." + id.localId();
    }

    private static String text(ForkId id) {
        return id.createdOn() + "." + id.localId();
    }
}
