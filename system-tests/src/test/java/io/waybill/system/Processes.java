package io.waybill.system;

import io.waybill.journal.RetentionSettings;
import io.waybill.rref.Keeping;
import io.waybill.rref.RRefSettings;
import io.waybill.worker.poll.Waiting;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** The processes of one test, in one home, with their logs beside it. Closing kills what still runs. */
final class Processes implements AutoCloseable {

    static final long RESERVE = 2 << 20;

    private final Path home;
    private final Path logs;
    private final Keeping keeping;
    private final Duration grace;
    private final List<WorkerProcess> started = new ArrayList<>();

    Processes(Path home, Path logs) {
        this(home, logs, RRefSettings.DEFAULTS.keeping(), RRefSettings.DEFAULTS.grace());
    }

    /** Whose workers keep these values of their references, and those that a dead one held for so long. */
    Processes(Path home, Path logs, Keeping keeping, Duration grace) {
        this.home = home;
        this.logs = logs;
        this.keeping = keeping;
        this.grace = grace;
    }

    Path home() {
        return home;
    }

    WorkerProcess start(String name) throws IOException {
        return start(name, RESERVE, Waiting.BALANCED);
    }

    WorkerProcess start(String name, long reserveBytes, Waiting waiting) throws IOException {
        return start(name, settings(reserveBytes, waiting));
    }

    /** One whose journal files are small, and which removes them. */
    WorkerProcess start(String name, RetentionSettings retention) throws IOException {
        List<String> settings = settings(RESERVE, Waiting.BALANCED);
        settings.add(String.valueOf(retention.maxCycles()));
        settings.add(String.valueOf(retention.absentPeers().toMillis()));
        return start(name, settings);
    }

    private List<String> settings(long reserveBytes, Waiting waiting) {
        return new ArrayList<>(List.of(
                String.valueOf(reserveBytes), waiting.name(), keeping.name(), String.valueOf(grace.toMillis())));
    }

    private WorkerProcess start(String name, List<String> settings) throws IOException {
        WorkerProcess process = WorkerProcess.start(home, name, logFile(name), settings);
        started.add(process);
        return process;
    }

    private Path logFile(String name) {
        return logs.resolve(name + ".calls");
    }

    /** What became of the calls of a worker, in all its incarnations. */
    Outcomes outcomes(String name) throws IOException {
        return Outcomes.read(logFile(name));
    }

    Path worker(int id, String name) {
        return home.resolve("workers").resolve(id + "-" + name);
    }

    Records requests(int id, String name) {
        return Records.read(worker(id, name).resolve("requests"));
    }

    Records responses(int id, String name) {
        return Records.read(worker(id, name).resolve("responses"));
    }

    @Override
    public void close() {
        started.forEach(WorkerProcess::close);
    }
}
