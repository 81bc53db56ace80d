package io.waybill.conformance.harness;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.waybill.conformance.cases.CaseJson;
import io.waybill.conformance.cases.ConformanceCase;
import io.waybill.conformance.cases.Step;
import io.waybill.conformance.cases.Verb;
import java.io.IOException;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;

/**
 * Runs one case on its workers, step by step. For one thread.
 *
 * @param workers the shared ones and the case's own, by name
 */
record CaseRun(ConformanceCase tested, Map<String, WorkerProcess> workers) {

    /** A worker reports a step that takes too long; the harness waits a little longer than the worker. */
    private static final Duration GRACE = Duration.ofSeconds(30);

    /** Runs the steps. Returns the problem; empty when all had the expected results. */
    Optional<String> run() throws IOException, WorkerFailedException {
        for (WorkerProcess worker : workers.values()) {
            begin(worker);
        }
        Optional<String> wrong = Optional.empty();
        for (int i = 0; i < tested.steps().size() && wrong.isEmpty(); i++) {
            JsonNode json = tested.steps().get(i);
            Step step = Step.of(json);
            String position = "step " + (i + 1) + " (" + step.verb() + " on " + step.on() + "): ";
            wrong = run(step, json).map(text -> position + text);
        }
        for (WorkerProcess worker : workers.values()) {
            if (worker.isAlive()) {
                worker.ask(CaseJson.object().put("end", true), GRACE);
            }
        }
        return wrong;
    }

    private void begin(WorkerProcess worker) throws WorkerFailedException {
        ObjectNode command = CaseJson.object().put("case", tested.name());
        tested.inputs().forEach(command.putObject("inputs")::set);
        Optional<String> problem = worker.ask(command, GRACE);
        if (problem.isPresent()) {
            throw new WorkerFailedException(problem.get());
        }
    }

    private Optional<String> run(Step step, JsonNode json) throws IOException, WorkerFailedException {
        WorkerProcess worker = workers.get(step.on());
        if (step.verb() == Verb.KILL) {
            worker.kill();
        } else if (step.verb() == Verb.RESTART) {
            worker.restart();
            begin(worker);
        } else {
            return worker.ask(CaseJson.object().set("step", json), step.within().plus(GRACE));
        }
        return Optional.empty();
    }
}
