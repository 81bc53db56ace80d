package io.waybill.replay.slice;

import io.waybill.query.MessageFilter;
import io.waybill.replay.recording.CallRecording;
import io.waybill.replay.recording.RecordedCall;
import io.waybill.wire.MessageBuffer;
import java.io.IOException;
import org.agrona.collections.LongArrayList;

/** The selected calls of a slice that went to one worker, in the order in which they stand there. One thread. */
final class SelectedCalls implements CallRecording.Handled {

    private final SliceReader reader;
    private final LongArrayList ids;
    private final int worker;
    private final MessageFilter filter;
    private final MessageBuffer requestBuffer = new MessageBuffer();
    private final MessageBuffer responseBuffer = new MessageBuffer();
    private int next;

    SelectedCalls(SliceReader reader, LongArrayList ids, int worker, MessageFilter filter) {
        this.reader = reader;
        this.ids = ids;
        this.worker = worker;
        this.filter = filter;
    }

    @Override
    public RecordedCall next() throws IOException {
        while (next < ids.size()) {
            RecordedCall call = reader.call(ids.getLong(next++)).orElseThrow();
            if (call.request().receiver() == worker
                    && filter.takesCaller(call.request().worker().id())
                    && call.isTakenBy(filter, requestBuffer, responseBuffer)) {
                return call;
            }
        }
        return null;
    }

    @Override
    public void close() {
        next = Integer.MAX_VALUE;
    }
}
