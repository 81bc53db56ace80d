package io.waybill.cli.dead;

import io.waybill.api.MessageId;
import io.waybill.api.WorkerInfo;
import io.waybill.query.DepartedWorkers;
import io.waybill.query.HomeJournals;
import io.waybill.query.MessageFilter;
import io.waybill.query.StoredCall;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The calls that were sent again, according to the journal of the worker {@value DepartedWorkers#RESENDING_WORKER}.
 * Requests of other workers do not count, although handlers pass the context entry on to nested calls. One thread.
 */
final class Repeats {

    /** Context entry with the id of the call that a request repeats. */
    static final String ENTRY = "waybill.repeats";

    private final Map<Long, List<StoredCall>> byFailed = new HashMap<>();
    private final Map<Long, Long> failedByRepeat = new HashMap<>();

    private Repeats() {}

    /** Reads the whole journal of that worker. */
    static Repeats read(HomeJournals journals) throws IOException {
        Repeats repeats = new Repeats();
        Optional<WorkerInfo> sender = journals.worker(DepartedWorkers.RESENDING_WORKER);
        if (sender.isPresent()) {
            MessageFilter sent =
                    new MessageFilter.Builder().worker(sender.get().id()).build();
            journals.list(sent, 0, call -> repeats.add(call, journals));
        }
        return repeats;
    }

    private void add(StoredCall call, HomeJournals journals) {
        try {
            journals.payload(call.request())
                    .flatMap(payload -> payload.context().text(ENTRY))
                    .filter(Repeats::isId)
                    .ifPresent(failed -> add(MessageId.parse(failed).value(), call));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static boolean isId(String text) {
        try {
            return MessageId.parse(text).value() != MessageId.NONE;
        } catch (IllegalArgumentException e) {
            return false;
        }
    }

    /** Adds a request that was sent since. */
    void add(long failed, StoredCall repeat) {
        byFailed.computeIfAbsent(failed, id -> new ArrayList<>()).add(repeat);
        failedByRepeat.put(repeat.request().id(), failed);
    }

    /** Completes a call with what was sent again of it. */
    DeadCall entry(StoredCall call) {
        long id = call.request().id();
        Optional<Long> of = Optional.ofNullable(failedByRepeat.get(id));
        int attempt = 1;
        for (Long earlier = of.orElse(null);
                earlier != null && attempt <= failedByRepeat.size(); // falsified entries may lead in a circle
                earlier = failedByRepeat.get(earlier)) {
            attempt++;
        }
        return new DeadCall(call, of, attempt, List.copyOf(byFailed.getOrDefault(id, List.of())));
    }
}
