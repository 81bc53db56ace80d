package io.waybill.replay;

import io.waybill.api.MessageId;
import io.waybill.api.WorkerInfo;
import io.waybill.host.Host;
import io.waybill.journal.JournalQueue;
import io.waybill.journal.read.QueueReader;
import io.waybill.journal.read.QueueReader.Step;
import io.waybill.query.MessageFilter;
import io.waybill.query.StoredJournal;
import io.waybill.wire.RecordView;
import java.io.Closeable;
import java.io.IOException;

/**
 * The requests of one caller to one worker, read once, in their order, as far as their answers demand: ids of a caller ascend. One thread.
 *
 * <p>Of what is not wanted no more than the header is read. A header that was not checked is believed only while the counters follow each
 * other.
 */
final class RequestCursor implements Closeable {

    private final WorkerInfo caller;
    private final int worker;
    private final MessageFilter filter;
    private final Problems problems;
    private final QueueReader reader;
    private final HeldRequests held;
    private final AnsweredCounters answered = new AnsweredCounters();
    private boolean lookedBehindEnd;
    private long lastCounter = -1;
    private Asked read; // the last one; null when it is not to the worker
    private long open;

    /** @param mostBytes of requests that wait for their answers */
    RequestCursor(
            StoredJournal caller, int worker, MessageFilter filter, Host host, long mostBytes, Problems problems) {
        this.caller = caller.info();
        this.worker = worker;
        this.filter = filter;
        this.problems = problems;
        this.reader = caller.read(JournalQueue.REQUESTS, host);
        this.held = new HeldRequests(mostBytes);
    }

    WorkerInfo caller() {
        return caller;
    }

    /** The request with this counter; null when it is not there, or {@linkplain #mayBeBehind was left behind}. */
    Asked take(long counter) throws IOException {
        Asked found = held.take(counter);
        while (found == null && lastCounter < counter && readOn()) {
            if (read != null && MessageId.counter(read.id()) == counter) {
                found = read;
            } else if (read != null) {
                held.add(MessageId.counter(read.id()), read);
            }
        }
        return found;
    }

    /** Whether a request that was not found may be there all the same. */
    boolean mayBeBehind(long counter) {
        return held.mayHaveDropped(counter);
    }

    /** Reads all that is there by now. */
    void readToEnd() throws IOException {
        while (readOn()) {
            if (read != null) {
                held.add(MessageId.counter(read.id()), read);
            }
        }
    }

    private boolean readOn() throws IOException {
        read = null;
        Step step = reader.skim();
        if (step == Step.RECORD) {
            pass(reader.record());
        } else if (step == Step.END) {
            if (lookedBehindEnd) {
                return false;
            }
            step = reader.searchBehindEnd();
            lookedBehindEnd = step == Step.END;
        }
        if (step == Step.DAMAGED) {
            problems.add(reader.damage().toString());
        }
        return true;
    }

    private void pass(RecordView header) throws IOException {
        long counter = MessageId.counter(header.id());
        boolean isOwn = MessageId.worker(header.id()) == caller.id() && header.from() == caller.id();
        if (!isOwn || counter <= lastCounter || counter != lastCounter + 1 && !reader.complete()) {
            return;
        }
        if (header.to() == worker) {
            read = asked(header);
        }
        lastCounter = counter;
    }

    private Asked asked(RecordView header) throws IOException {
        answered.begin(MessageId.counter(header.id()));
        if (!filter.takes(header)) {
            return Asked.unwanted(header);
        }
        if (!reader.complete()) {
            problems.add(reader.damage().toString());
            return null;
        }
        Asked asked = Asked.of(caller, reader.fileName(), header, filter);
        open += asked.isWanted() ? 1 : 0;
        return asked;
    }

    /** Notes that a handler answered. Returns false when one has done so before. */
    boolean answered(Asked asked) {
        open -= asked.isWanted() ? 1 : 0;
        return answered.add(MessageId.counter(asked.id()));
    }

    boolean isAnswered(long counter) {
        return answered.has(counter);
    }

    /** Whether some wanted request has no answer of a handler, or nobody knows. */
    boolean mayHaveOpen() {
        return open > 0;
    }

    /** The counter of the last request that was read. */
    long lastCounter() {
        return lastCounter;
    }

    /** Gives up what waits. */
    void forget() {
        held.clear();
    }

    @Override
    public void close() {
        reader.close();
    }
}
