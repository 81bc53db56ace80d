package io.waybill.crash.history;

import io.waybill.crash.history.Problem.Kind;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Everything that was written down in a run, brought together by message id: the journals of a home, and the logs of its workers' lives.
 * What can be judged file by file is told while it is read. One thread.
 */
public final class History {

    /** Type of the calls by which commands are run. They are in no log, and {@code CommandRuns} judges them. */
    private static final int CONTROL_CALL = 0x1f0;

    private final Problems problems;
    private final Map<Long, Call> calls = new HashMap<>();
    private final Map<Path, List<Event>> logs = new HashMap<>();
    private final List<Incarnation> incarnations = new ArrayList<>();
    private long records;
    private final Map<Integer, Long> refused = new TreeMap<>();
    private final Map<Integer, Long> failed = new TreeMap<>();

    private History(Problems problems) {
        this.problems = problems;
    }

    static History read(Path home, Path logs, Problems problems) throws IOException {
        History history = new History(problems);
        for (Path log : EventLog.list(logs)) {
            history.readLog(log);
        }
        try (var directories = Files.list(home.resolve("workers"))) {
            for (Path directory : directories.sorted().toList()) {
                history.readJournal(directory);
            }
        }
        history.calls.values().removeIf(call -> call.request != null && call.request.type() == CONTROL_CALL);
        return history;
    }

    private void readLog(Path log) throws IOException {
        Incarnation incarnation = new Incarnation(EventLog.worker(log), EventLog.incarnation(log));
        incarnations.add(incarnation);
        List<Event> events = EventLog.read(log);
        logs.put(log, events);
        for (Event event : events) {
            incarnation.take(event);
            Call.Seen seen = new Call.Seen(incarnation, event);
            switch (event.kind()) {
                case SENT -> call(event.id()).sent.add(seen);
                case OK -> call(event.id()).outcomes.add(seen);
                case FAILED -> {
                    failed.merge(event.code(), 1L, Long::sum);
                    call(event.id()).outcomes.add(seen);
                }
                case CLAIMED, CLAIM_FAILED -> call(event.id()).claims.add(seen);
                case BEGUN -> call(event.id()).runs.add(seen);
                case RESPONDED -> call(event.id()).handlerResponses.add(seen);
                case REFUSED -> refused.merge(event.code(), 1L, Long::sum);
                case JOINED, ENDED -> {
                    // of the incarnation
                }
            }
        }
    }

    private Call call(long id) {
        return calls.computeIfAbsent(id, Call::new);
    }

    private void readJournal(Path directory) throws IOException {
        String name = directory.getFileName().toString();
        int worker = Integer.parseInt(name.substring(0, name.indexOf('-')));
        Queue requests = new Queue(directory.resolve("requests"), worker, true);
        requests.read(message -> {
            if (message.caller() != worker || message.id() <= requests.lastId) {
                problems.add(Kind.ID_REUSED, requests + ": " + message + " comes behind " + hex(requests.lastId));
            }
            requests.lastId = message.id();
            Call call = call(message.id());
            call.request = call.request == null ? message : call.request;
        });
        new Queue(directory.resolve("responses"), worker, false)
                .read(message -> call(message.id()).responses.add(message));
    }

    private static String hex(long id) {
        return Long.toHexString(id);
    }

    /** Hands over a message. */
    private interface Sink {
        void take(StoredMessage message);
    }

    /** One queue, while it is read. */
    private final class Queue {
        private final Path directory;
        private final int owner;
        private final boolean ofRequests;
        private long nextSequence;
        private long lastId = -1;

        Queue(Path directory, int owner, boolean ofRequests) {
            this.directory = directory;
            this.owner = owner;
            this.ofRequests = ofRequests;
        }

        void read(Sink sink) throws IOException {
            new QueueFiles(directory, text -> problems.add(Kind.JOURNAL_DAMAGED, text)).forEach(message -> {
                records++;
                if (message.from() != owner || (ofRequests ? !message.isRequest() : !message.isResponse())) {
                    problems.add(Kind.JOURNAL_DAMAGED, this + ": " + message + " does not belong here");
                    return;
                }
                if (message.sequence() != nextSequence) {
                    problems.add(
                            Kind.RECORD_MISSING, this + ": expected record " + nextSequence + ", found " + message);
                }
                nextSequence = message.sequence() + 1;
                sink.take(message);
            });
        }

        @Override
        public String toString() {
            return directory.toString();
        }
    }

    Collection<Call> calls() {
        return calls.values();
    }

    /** What is known of an id; null for nothing. */
    Call find(long id) {
        return calls.get(id);
    }

    /** Each log's events, in order. */
    Collection<List<Event>> logs() {
        return logs.values();
    }

    List<Incarnation> incarnations() {
        return incarnations;
    }

    /** The life of a worker with this epoch, of which the low 32 bits are given; null when none logged anything. */
    Incarnation incarnation(int worker, long epoch) {
        for (Incarnation incarnation : incarnations) {
            if (incarnation.id == worker && (incarnation.epoch & 0xffffffffL) == epoch) {
                return incarnation;
            }
        }
        return null;
    }

    /** Whether an incarnation of a worker with this epoch, of which the low 32 bits are given, or a later one came to an orderly end. */
    boolean hasEnded(int worker, long epoch) {
        return incarnations.stream()
                .anyMatch(other -> other.id == worker && (other.epoch & 0xffffffffL) >= epoch && other.ended);
    }

    /** Whether a later incarnation of the same worker came to an orderly end: it had the time to claim what was open. */
    boolean hasEndedAfter(Incarnation incarnation) {
        return incarnations.stream()
                .anyMatch(other ->
                        other.worker.equals(incarnation.worker) && other.number > incarnation.number && other.ended);
    }

    /** How many calls failed, by the error's number. */
    Map<Integer, Long> failed() {
        return failed;
    }

    /** How many calls were refused and have no id, by the error's number. */
    Map<Integer, Long> refused() {
        return refused;
    }

    /** How many records its journals have. */
    long records() {
        return records;
    }
}
