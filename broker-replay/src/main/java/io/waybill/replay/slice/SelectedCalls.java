package io.waybill.replay.slice;

import io.waybill.query.MessageFilter;
import io.waybill.replay.recording.CallRecording;
import io.waybill.replay.recording.RecordedCall;
import io.waybill.replay.slice.SliceLayout.Part;
import io.waybill.wire.MessageBuffer;
import java.io.IOException;
import java.nio.ByteBuffer;

/** The selected calls of a slice that went to one worker, in the order in which they stand there. One thread. */
final class SelectedCalls implements CallRecording.Handled {

    private final SliceFile file;
    private final SliceReader reader;
    private final int worker;
    private final MessageFilter filter;
    private final MessageBuffer requestBuffer = new MessageBuffer();
    private final MessageBuffer responseBuffer = new MessageBuffer();
    private ByteBuffer chunk = ByteBuffer.allocate(0);
    private int next;

    SelectedCalls(SliceFile file, SliceReader reader, int worker, MessageFilter filter) {
        this.file = file;
        this.reader = reader;
        this.worker = worker;
        this.filter = filter;
    }

    @Override
    public RecordedCall next() throws IOException {
        while (chunk.hasRemaining() || next < file.chunks(Part.CALLS)) {
            if (!chunk.hasRemaining()) {
                chunk = reader.chunk(Part.CALLS, next++);
            }
            while (chunk.hasRemaining()) {
                RecordedCall call = take(SlicedCall.decode(chunk));
                if (call != null) {
                    return call;
                }
            }
        }
        return null;
    }

    /** Null when it is not wanted. */
    private RecordedCall take(SlicedCall sliced) {
        RecordedCall call = reader.recorded(sliced);
        boolean isTaken = call.request().receiver() == worker
                && filter.takesCaller(call.request().worker().id())
                && call.isTakenBy(filter, requestBuffer, responseBuffer);
        return isTaken ? call : null;
    }

    @Override
    public void close() {
        chunk = ByteBuffer.allocate(0);
        next = Integer.MAX_VALUE;
    }
}
