package io.waybill.system;

import io.waybill.worker.Waiting;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** The processes of one test, in one home, with their logs beside it. Closing kills what still runs. */
final class Processes implements AutoCloseable {

    static final long RESERVE = 2 << 20;

    private final Path home;
    private final Path logs;
    private final List<WorkerProcess> started = new ArrayList<>();

    Processes(Path home, Path logs) {
        this.home = home;
        this.logs = logs;
    }

    Path home() {
        return home;
    }

    WorkerProcess start(String name) throws IOException {
        return start(name, RESERVE, Waiting.BALANCED);
    }

    WorkerProcess start(String name, long reserveBytes, Waiting waiting) throws IOException {
        WorkerProcess process = WorkerProcess.start(home, name, logFile(name), reserveBytes, waiting);
        started.add(process);
        return process;
    }

    private Path logFile(String name) {
        return logs.resolve(name + ".calls");
    }

    /** What became of the calls of a worker, in all its lives. */
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
