package io.waybill.replay.recording;

import io.waybill.query.MessageFilter;
import io.waybill.wire.MessageBuffer;
import io.waybill.wire.RecordView;
import java.util.Optional;

/**
 * A request and its recorded response.
 *
 * @param response empty if the recording has none
 * @param isLeaf whether its handler is known to have no nested calls
 */
public record RecordedCall(long id, RecordedMessage request, Optional<RecordedMessage> response, boolean isLeaf) {

    /** Creates a call whose handler may have nested calls. */
    public RecordedCall(long id, RecordedMessage request, Optional<RecordedMessage> response) {
        this(id, request, response, false);
    }

    /** Returns the size of both records. */
    public int bytes() {
        return request.record().length + (response.isPresent() ? response.get().record().length : 0);
    }

    /**
     * Returns whether a filter matches the call, apart from sender and receiver. The buffers contain its records
     * afterwards.
     */
    public boolean isTakenBy(MessageFilter filter, MessageBuffer requestBuffer, MessageBuffer responseBuffer) {
        RecordView sent = request.in(requestBuffer);
        return filter.takes(sent)
                && filter.takesOperationOf(sent)
                && (response.isPresent()
                        ? filter.takesResponse(sent.sentNs(), response.get().in(responseBuffer))
                        : filter.takesUnanswered());
    }
}
