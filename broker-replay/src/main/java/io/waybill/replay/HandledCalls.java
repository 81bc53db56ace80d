package io.waybill.replay;

import io.waybill.api.MessageId;
import io.waybill.api.WorkerInfo;
import io.waybill.journal.JournalQueue;
import io.waybill.journal.read.QueueReader;
import io.waybill.journal.read.QueueReader.Step;
import io.waybill.query.MessageFilter;
import io.waybill.query.StoredJournal;
import io.waybill.query.StoredJournals;
import io.waybill.replay.BeginOrder.Begun;
import io.waybill.wire.RecordView;
import java.io.IOException;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * What a worker handled, read from its answers and the requests of its callers, each once and side by side. Those that it never began come
 * last.
 *
 * <p><b>Threads.</b> One. <b>Memory.</b> Bounded, whatever the journals' size: what waits for its turn is dropped in the end, and looked up
 * when it is needed after all.
 */
final class HandledCalls implements Recording.Handled {

    private static final long NO_GENERATION = -1;
    private static final long MOST_HELD_BYTES = 64L << 20;

    private final StoredJournals journals;
    private final WorkerInfo worker;
    private final MessageFilter filter;
    private final Problems problems;
    private final Childless childless;
    private final CallLookup lookup;
    private final QueueReader answers;
    private final OtherAnswers others;
    private final SentByHandlers sent;
    private final Map<Integer, RequestCursor> cursors = new TreeMap<>();
    private final BeginOrder order = new BeginOrder();
    private RequestCursor latest; // the one that was used last; null at first
    private boolean lookedBehindEnd;
    private boolean sawAllRequests;
    private boolean allAnswersRead;
    private NeverBegun neverBegun; // null until all that was begun was given
    private long withoutRequest;

    /** @param journals its own, closed with this */
    HandledCalls(
            StoredJournals journals,
            StoredJournal worker,
            MessageFilter filter,
            Problems problems,
            Childless childless) {
        this.journals = journals;
        this.worker = worker.info();
        this.filter = filter;
        this.problems = problems;
        this.childless = childless;
        this.lookup = new CallLookup(journals, problems);
        this.answers = worker.read(JournalQueue.RESPONSES, journals.host());
        this.others = new OtherAnswers(worker.read(JournalQueue.RESPONSES, journals.host()));
        this.sent = new SentByHandlers(worker.read(JournalQueue.REQUESTS, journals.host()));
        int callers = Math.max(1, journals.all().size());
        for (StoredJournal caller : journals.all()) {
            if (filter.takesCaller(caller.info().id())) {
                cursors.put(
                        caller.info().id(),
                        new RequestCursor(
                                caller,
                                this.worker.id(),
                                filter,
                                journals.host(),
                                MOST_HELD_BYTES / callers,
                                problems));
            }
        }
    }

    @Override
    public RecordedCall next() throws IOException {
        while (neverBegun == null) {
            RecordedCall ready = order.poll();
            if (ready != null) {
                tellChildless(ready);
                return ready;
            }
            if (allAnswersRead) {
                beginNeverBegun();
            } else {
                readAnswer();
            }
        }
        return neverBegun.next();
    }

    private void tellChildless(RecordedCall call) throws IOException {
        if (sent.isChildless(call.id(), call.response().orElseThrow().sentNs())) {
            childless.add(call.id());
        }
    }

    private void readAnswer() throws IOException {
        Step step = answers.skim();
        if (step == Step.RECORD) {
            take(answers.record());
        } else if (step == Step.DAMAGED) {
            problems.add(answers.damage().toString());
        } else if (lookedBehindEnd || answers.searchBehindEnd() == Step.END) {
            lookedBehindEnd = true;
            atEnd();
        } else {
            problems.add(answers.damage().toString());
        }
    }

    /** What is asked from now on is not looked at, and what was answered until now is. */
    private void atEnd() throws IOException {
        if (sawAllRequests) {
            order.end();
            allAnswersRead = true;
            return;
        }
        for (RequestCursor cursor : cursors.values()) {
            cursor.readToEnd();
        }
        sawAllRequests = true;
    }

    private void take(RecordView answer) throws IOException {
        long id = answer.id();
        RequestCursor cursor = cursorOf(MessageId.worker(id));
        if (answer.to() != MessageId.worker(id) || answer.from() != worker.id()) {
            return;
        }
        if (answer.handlerSequence() <= 0 || answer.isRepeated()) {
            others.add(id, answers.place());
        } else if (cursor == null) {
            fillPlace(answer);
        } else {
            Asked asked = cursor.take(MessageId.counter(id));
            join(cursor, asked == null ? lookUp(cursor, id) : asked, answer);
        }
    }

    /** Others wait for it. */
    private void fillPlace(RecordView answer) {
        order.add(new Begun(answer.handlerSequence(), NO_GENERATION, false, null));
    }

    private RequestCursor cursorOf(int caller) {
        if (latest == null || latest.caller().id() != caller) {
            latest = cursors.get(caller);
        }
        return latest;
    }

    /** A request that was read long before its answer; null when there is none. */
    private Asked lookUp(RequestCursor cursor, long id) throws IOException {
        long counter = MessageId.counter(id);
        if (!cursor.mayBeBehind(counter) || cursor.isAnswered(counter)) {
            return null;
        }
        return lookup.asked(id, filter)
                .filter(found -> found.message() == null || found.message().receiver() == worker.id())
                .orElse(null);
    }

    private void join(RequestCursor cursor, Asked asked, RecordView answer) throws IOException {
        if (asked == null) {
            boolean isAgain = cursor.isAnswered(MessageId.counter(answer.id()));
            withoutRequest += isAgain ? 0 : 1;
            fillPlace(answer);
            return;
        }
        RecordedCall call = null;
        if (asked.isWanted()) {
            if (!answers.complete()) {
                problems.add(answers.damage().toString());
                return;
            }
            call = filter.takesAnswer(asked.sentNs(), answer) ? call(asked, answer) : null;
        }
        cursor.answered(asked);
        boolean isSure = !asked.isAcrossLives() && !answer.isAcrossLives();
        order.add(new Begun(answer.handlerSequence(), asked.generation(), isSure, call));
    }

    private RecordedCall call(Asked asked, RecordView answer) {
        RecordedMessage response = RecordedMessage.copy(worker, JournalQueue.RESPONSES, answers.fileName(), answer);
        return new RecordedCall(asked.id(), asked.message(), Optional.of(response));
    }

    private void beginNeverBegun() {
        neverBegun = new NeverBegun(cursors.values(), others, lookup, journals, worker, filter);
        if (withoutRequest > 0) {
            problems.add("of " + withoutRequest + " answers of worker " + worker.name()
                    + " there is no request on record: older files were removed, or are damaged");
        }
        if (order.outOfOrder() > 0) {
            problems.add(order.outOfOrder() + " calls to worker " + worker.name()
                    + " come behind one that began later, because their answers came very late");
        }
    }

    @Override
    public void close() {
        answers.close();
        others.close();
        sent.close();
        cursors.values().forEach(RequestCursor::close);
        if (neverBegun != null) {
            neverBegun.close();
        }
        journals.close();
    }
}
