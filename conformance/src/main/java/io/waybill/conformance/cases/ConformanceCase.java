package io.waybill.conformance.cases;

import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.databind.JsonNode;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * One case: steps that must all have their expected results, in order.
 *
 * @param tests of the peer's suite that it stands for
 * @param about for people
 * @param skip why it is not run; null when it is
 * @param workers started for it alone, by name: a {@link WorkerSpec} each
 * @param inputs values by name, for its steps
 * @param steps a {@link Step} each
 */
public record ConformanceCase(
        @JsonProperty(required = true) String name,
        List<String> tests,
        String about,
        String skip,
        Map<String, JsonNode> workers,
        Map<String, JsonNode> inputs,
        List<JsonNode> steps) {

    private static final int MAX_STEPS = 10_000;

    /** Returns whether one of its steps ends a worker, which the next case may need. */
    public boolean endsWorkers() {
        return steps.stream().map(json -> Step.of(json).verb()).anyMatch(Set.of(Verb.KILL, Verb.SHUTDOWN)::contains);
    }

    void check(Set<String> shared) {
        String position = "case '" + name + "'";
        try {
            CaseFile.require(steps.size() <= MAX_STEPS, "at most " + MAX_STEPS + " steps, not " + steps.size());
            Set<String> all = new HashSet<>(shared);
            workers.forEach((worker, spec) -> {
                WorkerSpec.of(worker, spec);
                CaseFile.require(all.add(worker), "the file has a worker '" + worker + "', too");
            });
            for (int i = 0; i < steps.size(); i++) {
                position = "case '" + name + "': step " + (i + 1);
                String on = Step.of(steps.get(i)).on();
                CaseFile.require(all.contains(on), "no worker '" + on + "', expected one of " + all);
            }
        } catch (CaseFormatException e) {
            throw e.at(position);
        }
    }
}
