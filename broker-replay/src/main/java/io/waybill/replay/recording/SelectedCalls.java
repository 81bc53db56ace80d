package io.waybill.replay.recording;

import io.waybill.query.MessageFilter;
import io.waybill.wire.MessageBuffer;
import java.io.Closeable;
import java.io.IOException;
import java.util.Optional;
import org.agrona.collections.LongArrayList;

/** The given calls that went to one worker and match a filter, each looked up by id. One thread. */
public final class SelectedCalls implements CallRecording.Handled {

    /** Lookup of calls by id. */
    @FunctionalInterface
    public interface Lookup {

        /** Returns the call with an id; empty if there is none. */
        Optional<RecordedCall> call(long id) throws IOException;
    }

    private final Lookup lookup;
    private final LongArrayList ids;
    private final int worker;
    private final MessageFilter filter;
    private final Closeable closing;
    private final MessageBuffer requestBuffer = new MessageBuffer();
    private final MessageBuffer responseBuffer = new MessageBuffer();
    private int next;

    /**
     * Creates a selection.
     *
     * @param closing closed with this object
     */
    public SelectedCalls(Lookup lookup, LongArrayList ids, int worker, MessageFilter filter, Closeable closing) {
        this.lookup = lookup;
        this.ids = ids;
        this.worker = worker;
        this.filter = filter;
        this.closing = closing;
    }

    @Override
    public RecordedCall next() throws IOException {
        while (next < ids.size()) {
            RecordedCall call = lookup.call(ids.getLong(next++)).orElse(null);
            if (call != null
                    && call.request().receiver() == worker
                    && filter.takesCaller(call.request().worker().id())
                    && call.isTakenBy(filter, requestBuffer, responseBuffer)) {
                return call;
            }
        }
        return null;
    }

    @Override
    public void close() throws IOException {
        closing.close();
    }
}
