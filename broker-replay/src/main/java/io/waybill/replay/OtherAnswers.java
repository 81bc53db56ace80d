package io.waybill.replay;

import io.waybill.journal.RecordPosition;
import io.waybill.journal.read.QueueReader;
import io.waybill.journal.read.QueueReader.Step;
import java.io.Closeable;
import java.io.IOException;
import java.util.Optional;
import org.agrona.collections.Long2ObjectHashMap;

/** Where answers lie whose place in the order of beginning is not known: those without a handler, and those sent again. One thread. */
final class OtherAnswers implements Closeable {

    /** Most places that are remembered: about 20 MB. */
    private static final int MOST = 1 << 18;

    private final Long2ObjectHashMap<RecordPosition> places = new Long2ObjectHashMap<>();
    private final QueueReader reader;
    private boolean someForgotten;

    /** @param reader of the worker's answers, closed with this */
    OtherAnswers(QueueReader reader) {
        this.reader = reader;
    }

    void add(long id, RecordPosition place) {
        if (places.size() < MOST) {
            places.putIfAbsent(id, place);
        } else {
            someForgotten = true;
        }
    }

    /** Whether only the index can tell of an answer that is not found here. */
    boolean hasForgotten() {
        return someForgotten;
    }

    /** The answer, which the reader's record then shows; empty when there is none that is whole. */
    Optional<QueueReader> find(long id) throws IOException {
        RecordPosition place = places.get(id);
        boolean isThere = place != null
                && reader.moveTo(place)
                && reader.next() == Step.RECORD
                && reader.offset() == place.offset()
                && reader.record().id() == id;
        return isThere ? Optional.of(reader) : Optional.empty();
    }

    @Override
    public void close() {
        reader.close();
    }
}
