package io.waybill.cli.conformance.format;

import io.waybill.home.JoinOptions;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * One case: steps, in order, that all have to go as expected.
 *
 * @param tests of the peer's suite that it stands for
 * @param skip why it is not run
 * @param workers that are started for it alone, by name
 * @param inputs values by name, which its steps may use
 */
public record Case(
        String name,
        List<String> tests,
        Optional<String> skip,
        Map<String, WorkerPlan> workers,
        Datum inputs,
        List<Step> steps) {

    private static final int MAX_STEPS = 10_000;
    private static final Set<String> KNOWN = Set.of("name", "tests", "about", "skip", "workers", "inputs", "steps");

    /** Whether one of its steps ends a worker, which the next case may need. */
    public boolean endsWorkers() {
        return steps.stream().anyMatch(step -> step.verb() == Verb.KILL || step.verb() == Verb.SHUTDOWN);
    }

    static Case of(Datum datum, Map<String, WorkerPlan> shared) throws FormatException {
        Fields fields = Fields.of("a case", datum);
        String name = fields.text("name");
        try {
            fields.only(KNOWN);
            Map<String, WorkerPlan> own = workers(fields, JoinOptions.ANY_ID);
            Map<String, WorkerPlan> all = new LinkedHashMap<>(shared);
            all.putAll(own);
            if (all.size() < shared.size() + own.size()) {
                throw new FormatException("a worker of the case has the name of one of the file");
            }
            Datum inputs = fields.find("inputs").orElse(Datum.Record.EMPTY);
            Fields.of("inputs", inputs);
            Optional<String> skip = fields.has("skip") ? Optional.of(fields.text("skip")) : Optional.empty();
            return new Case(name, fields.texts("tests"), skip, own, inputs, steps(fields, all.keySet()));
        } catch (FormatException e) {
            throw e.at("case '" + name + "'");
        }
    }

    /** @param firstId of the first worker, those of the others follow it; or {@link JoinOptions#ANY_ID} */
    static Map<String, WorkerPlan> workers(Fields fields, int firstId) throws FormatException {
        Map<String, WorkerPlan> workers = new LinkedHashMap<>();
        for (Map.Entry<String, Datum> entry : fields.object("workers").entrySet()) {
            int id = firstId == JoinOptions.ANY_ID ? firstId : firstId + workers.size();
            workers.put(entry.getKey(), WorkerPlan.of(entry.getKey(), entry.getValue(), id));
        }
        return workers;
    }

    private static List<Step> steps(Fields fields, Set<String> workers) throws FormatException {
        List<Datum> found = fields.row("steps");
        if (found.size() > MAX_STEPS) {
            throw new FormatException("a case has at most " + MAX_STEPS + " steps, not " + found.size());
        }
        List<Step> steps = new ArrayList<>();
        for (Datum datum : found) {
            try {
                Step step = Step.of(datum);
                if (!workers.contains(step.on())) {
                    throw new FormatException("no worker '" + step.on() + "'; there are " + workers);
                }
                steps.add(step);
            } catch (FormatException e) {
                throw e.at("step " + (steps.size() + 1));
            }
        }
        return steps;
    }
}
