package io.waybill.worker.context;

import io.waybill.api.MessageType;
import io.waybill.api.context.CallContext;
import io.waybill.journal.read.JournalTail;
import io.waybill.journal.read.Poll;
import io.waybill.wire.MessageBuffer;
import io.waybill.wire.RecordView;
import io.waybill.worker.Worker;
import io.waybill.worker.Workers;
import java.util.ArrayList;
import java.util.List;

/** The requests in a worker's journal, with their contexts. */
final class RecordedContexts {

    /** One of them, oldest first. */
    record OnRecord(long id, long parent, MessageType type, CallContext context, long callerSpan) {

        long span() {
            return context.trace().orElseThrow().spanId();
        }
    }

    private RecordedContexts() {}

    static List<OnRecord> of(Worker worker) {
        List<OnRecord> found = new ArrayList<>();
        MessageBuffer buffer = new MessageBuffer();
        RecordView view = new RecordView(buffer);
        try (JournalTail tail =
                JournalTail.open(worker.directory().path().resolve("requests"), Workers.SETTINGS.journal())) {
            while (tail.poll(buffer, JournalTail.ANY_RECEIVER) == Poll.RECORD) {
                found.add(new OnRecord(view.id(), view.parent(), view.type(), view.context(), view.callerSpan()));
            }
        }
        return found;
    }
}
