package io.waybill.cli.conformance;

import io.waybill.cli.conformance.format.Case;
import io.waybill.cli.conformance.format.Datum;
import io.waybill.cli.conformance.format.Fields;
import io.waybill.cli.conformance.format.Step;
import io.waybill.cli.conformance.format.Verb;
import java.io.IOException;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeSet;

/** Plays one case on its workers, step after step. For one thread. */
final class CasePlay {

    /** A step says when it takes too long; the process that plays it must not be slower to say so. */
    private static final Duration GRACE = Duration.ofSeconds(30);

    private final Case played;
    private final List<Cast> casts;

    /** @param casts the case's own workers, and the shared ones */
    CasePlay(Case played, List<Cast> casts) {
        this.played = played;
        this.casts = casts;
    }

    private Cast castOf(String worker) {
        return casts.stream().filter(cast -> cast.has(worker)).findFirst().orElseThrow();
    }

    private TreeSet<String> workers() {
        TreeSet<String> names = new TreeSet<>();
        casts.forEach(cast -> names.addAll(cast.names()));
        return names;
    }

    /** What went wrong; empty when all went as expected. */
    Optional<String> play() throws IOException, WorkerFailedException {
        for (String worker : workers()) {
            begin(worker);
        }
        Optional<String> wrong = Optional.empty();
        for (int i = 0; i < played.steps().size() && wrong.isEmpty(); i++) {
            Step step = played.steps().get(i);
            String place = "step " + (i + 1) + " (" + step.verb() + " on " + step.on() + "): ";
            wrong = play(step).map(text -> place + text);
        }
        end();
        return wrong;
    }

    private void begin(String worker) throws WorkerFailedException {
        Map<String, Datum> line = new LinkedHashMap<>();
        line.put("case", new Datum.Text(played.name()));
        line.put("inputs", played.inputs());
        ask(worker, line, GRACE).ifPresent(text -> {
            throw new IllegalStateException(text);
        });
    }

    private Optional<String> ask(String worker, Map<String, Datum> line, Duration limit) throws WorkerFailedException {
        WorkerProcess process = castOf(worker).process(worker);
        process.tell(line);
        Fields answer = process.hear(limit);
        return answer.has("passed") ? Optional.empty() : Optional.of(Cast.text(answer));
    }

    private Optional<String> play(Step step) throws IOException, WorkerFailedException {
        if (step.verb().place() == Verb.Place.WORKER) {
            return ask(step.on(), Map.of("step", step.datum()), step.within().plus(GRACE));
        }
        Cast cast = castOf(step.on());
        if (step.verb() == Verb.KILL) {
            cast.process(step.on()).kill();
        } else {
            cast.restart(step.on());
            begin(step.on());
        }
        return Optional.empty();
    }

    private void end() throws WorkerFailedException {
        for (String worker : workers()) {
            if (castOf(worker).process(worker).isAlive()) {
                ask(worker, Map.of("end", new Datum.Truth(true)), GRACE);
            }
        }
    }
}
