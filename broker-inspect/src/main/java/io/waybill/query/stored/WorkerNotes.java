package io.waybill.query.stored;

import io.waybill.home.note.NotedOutcomes;
import io.waybill.home.note.NotedOutcomes.Noted;
import io.waybill.home.note.Responders;
import io.waybill.home.note.Responders.Responder;
import io.waybill.host.Host;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;

/** Notes of one worker in addition to its journal, as of the time of reading. Immutable. */
public final class WorkerNotes {

    private final NotedOutcomes.Reader outcomes;
    private final Map<Long, Responder> responders;

    private WorkerNotes(NotedOutcomes.Reader outcomes, Map<Long, Responder> responders) {
        this.outcomes = outcomes;
        this.responders = responders;
    }

    /** Reads the notes in a worker's directory. */
    public static WorkerNotes of(Path worker, Host host) throws IOException {
        return new WorkerNotes(NotedOutcomes.Reader.of(worker, host), Responders.read(worker, host.files()));
    }

    /** Returns the outcome that the worker gave its own call. */
    public Optional<Noted> outcome(long id) {
        return outcomes.of(id);
    }

    boolean reachesTo(long sentNs) {
        return outcomes.reachesTo(sentNs);
    }

    /** Returns the bundle with this number. */
    public Optional<Responder> responder(long number) {
        return Optional.ofNullable(responders.get(number));
    }
}
