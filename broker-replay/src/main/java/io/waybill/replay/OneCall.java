package io.waybill.replay;

import io.waybill.query.MessageFilter;
import io.waybill.query.StoredJournals;
import io.waybill.wire.MessageBuffer;
import io.waybill.wire.RecordView;
import java.io.IOException;
import java.util.Optional;

/** The one call that a filter names by its id, looked up. One thread. */
final class OneCall implements Recording.Handled {

    private final StoredJournals journals;
    private RecordedCall call; // null when it was given, or there is none

    /** @param journals its own, closed with this */
    OneCall(StoredJournals journals, int worker, MessageFilter filter, long id, Problems problems) throws IOException {
        this.journals = journals;
        call = new CallLookup(journals, problems)
                .call(id)
                .filter(found -> isWanted(found, worker, filter))
                .orElse(null);
    }

    private static boolean isWanted(RecordedCall call, int worker, MessageFilter filter) {
        RecordView request = call.request().in(new MessageBuffer());
        Optional<RecordView> answer = call.response().map(found -> found.in(new MessageBuffer()));
        return call.request().receiver() == worker
                && filter.takesCaller(request.from())
                && filter.takes(request)
                && filter.takesOperationOf(request)
                && (answer.isPresent() ? filter.takesAnswer(request.sentNs(), answer.get()) : filter.takesUnanswered());
    }

    @Override
    public RecordedCall next() {
        RecordedCall next = call;
        call = null;
        return next;
    }

    @Override
    public void close() {
        journals.close();
    }
}
