package io.waybill.cli.conformance;

import io.waybill.cli.conformance.format.Datum;
import io.waybill.cli.conformance.format.Fields;
import io.waybill.cli.conformance.format.FormatException;
import io.waybill.cli.conformance.format.WorkerPlan;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Workers by name, each in a process.
 *
 * <p><b>Threads.</b> One. <b>Ownership.</b> Owns the processes.
 */
final class Cast implements AutoCloseable {

    private static final Duration START_LIMIT = Duration.ofSeconds(120);

    private final Troupe troupe;
    private final Map<String, WorkerPlan> plans;
    private final Path scripts;
    private final Map<String, WorkerProcess> processes = new LinkedHashMap<>();

    private Cast(Troupe troupe, Map<String, WorkerPlan> plans, Path scripts) {
        this.troupe = troupe;
        this.plans = plans;
        this.scripts = scripts;
    }

    /**
     * Starts all at once, and returns when all are ready.
     *
     * @param scripts a directory of those that nodes serve
     */
    static Cast start(Troupe troupe, Map<String, WorkerPlan> plans, Path scripts)
            throws IOException, WorkerFailedException {
        Cast cast = new Cast(troupe, plans, scripts);
        try {
            for (WorkerPlan plan : plans.values()) {
                cast.begin(plan);
            }
            for (String name : plans.keySet()) {
                cast.awaitReady(name);
            }
            return cast;
        } catch (IOException | WorkerFailedException | RuntimeException e) {
            cast.close();
            throw e;
        }
    }

    private void begin(WorkerPlan plan) throws IOException {
        WorkerProcess process = troupe.start(plan.name());
        processes.put(plan.name(), process);
        Map<String, Datum> line = new LinkedHashMap<>();
        line.put("worker", new Datum.Text(plan.name()));
        line.put("plan", plan.toDatum());
        line.put("scripts", new Datum.Text(scripts.toString()));
        process.tell(line);
    }

    private void awaitReady(String name) throws WorkerFailedException {
        Fields answer = processes.get(name).hear(START_LIMIT);
        if (!answer.has("ready")) {
            throw new WorkerFailedException("worker " + name + " did not become ready: " + text(answer));
        }
    }

    static String text(Fields answer) throws WorkerFailedException {
        try {
            return answer.text("failed");
        } catch (FormatException e) {
            throw new WorkerFailedException(e.getMessage());
        }
    }

    /** All, by name. */
    List<String> names() {
        return new ArrayList<>(processes.keySet());
    }

    WorkerProcess process(String name) {
        return processes.get(name);
    }

    boolean has(String name) {
        return processes.containsKey(name);
    }

    /** Starts a worker again whose process ended. */
    void restart(String name) throws IOException, WorkerFailedException {
        processes.get(name).close();
        begin(plans.get(name));
        awaitReady(name);
    }

    @Override
    public void close() {
        processes.values().forEach(WorkerProcess::close);
    }
}
