package io.waybill.replay;

import io.waybill.api.MessageId;
import io.waybill.journal.read.QueueReader;
import io.waybill.journal.read.QueueReader.Step;
import io.waybill.wire.RecordView;
import java.io.Closeable;
import java.io.IOException;
import org.agrona.collections.LongHashSet;

/** Goes along a worker's requests while its answers are read, and finds out whose handlers sent some. One thread. */
final class SentByHandlers implements Closeable {

    /** Most requests that are remembered: about 16 MB. */
    private static final int MOST = 1 << 20;

    private final QueueReader reader;
    private final LongHashSet parents = new LongHashSet();
    private long readUntilNs = Long.MIN_VALUE;
    private boolean atEnd;

    /** @param reader of what the worker sent, closed with this */
    SentByHandlers(QueueReader reader) {
        this.reader = reader;
    }

    /** Whether a request that was answered at this time has no other below it. */
    boolean isChildless(long id, long answeredNs) throws IOException {
        readUntil(answeredNs + CallLookup.LATE_CHILD_NS);
        return parents.size() < MOST && !parents.contains(id);
    }

    private void readUntil(long sentNs) throws IOException {
        while (!atEnd && readUntilNs <= sentNs && parents.size() < MOST) {
            Step step = reader.skim();
            RecordView header = reader.record();
            if (step == Step.RECORD) {
                readUntilNs = header.sentNs();
                if (header.parent() != MessageId.NONE) {
                    parents.add(header.parent());
                }
            } else {
                atEnd = step == Step.END && reader.searchBehindEnd() == Step.END;
            }
        }
    }

    @Override
    public void close() {
        reader.close();
    }
}
