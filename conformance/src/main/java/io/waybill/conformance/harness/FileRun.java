package io.waybill.conformance.harness;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.waybill.conformance.cases.CaseFile;
import io.waybill.conformance.cases.CaseJson;
import io.waybill.conformance.cases.ConformanceCase;
import io.waybill.home.JoinOptions;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * Runs the cases of one file. The file's workers are started once, in a home of their own; those of a case for that
 * case.
 *
 * <p>A worker that ends unexpectedly, or sends no response in time, fails the case that it did so in; the file's
 * workers are then restarted for the next case.
 *
 * <p><b>Threads.</b> One. <b>Ownership.</b> Owns the processes; closing ends them.
 */
public final class FileRun implements AutoCloseable {

    private final CaseFile file;
    private final WorkerLauncher launcher;
    private final Path scripts;
    private final Map<String, WorkerProcess> shared = new LinkedHashMap<>();

    /** @param name a directory of this name is made for the file's home, logs and scripts */
    public FileRun(String name, CaseFile file, WorkerLauncher launcher) throws IOException {
        this.file = file;
        this.launcher = launcher.below(name);
        this.scripts = this.launcher.directory().resolve("scripts");
        writeScripts();
    }

    /** The scripts' directory is one that only its owner may write. */
    private void writeScripts() throws IOException {
        Files.createDirectory(
                scripts, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
        for (String script : file.scripts().keySet()) {
            Path path = scripts.resolve(script);
            if (script.endsWith(".pt")) {
                Files.write(path, ModuleFile.of(script.substring(0, script.lastIndexOf('.')), file.script(script)));
            } else {
                Files.writeString(path, file.script(script));
            }
        }
    }

    /** Runs a case. Returns what went wrong; empty when all was as expected. */
    public Optional<String> run(ConformanceCase tested) throws IOException {
        Map<String, WorkerProcess> own = new LinkedHashMap<>();
        boolean isShared = false;
        try {
            if (shared.isEmpty()) {
                start(file.workers(), 0, shared);
            }
            start(tested.workers(), JoinOptions.ANY_ID, own);
            Map<String, WorkerProcess> all = new LinkedHashMap<>(shared);
            all.putAll(own);
            Optional<String> wrong = new CaseRun(tested, all).run();
            isShared = !tested.endsWorkers();
            return wrong;
        } catch (WorkerFailedException e) {
            return Optional.of(e.getMessage());
        } finally {
            own.values().forEach(WorkerProcess::close);
            if (!isShared) {
                close();
            }
        }
    }

    /** Starts all at once, and waits until all have joined. */
    private void start(Map<String, JsonNode> specs, int firstId, Map<String, WorkerProcess> started)
            throws IOException, WorkerFailedException {
        for (Map.Entry<String, JsonNode> spec : specs.entrySet()) {
            int id = firstId == JoinOptions.ANY_ID ? firstId : firstId + started.size();
            ObjectNode join = CaseJson.object().put("worker", spec.getKey()).put("id", id);
            join.put("scripts", scripts.toString()).set("spec", spec.getValue());
            started.put(spec.getKey(), new WorkerProcess(spec.getKey(), join, launcher));
        }
        for (WorkerProcess worker : started.values()) {
            worker.awaitReady();
        }
    }

    /** Ends the file's workers and removes their home, which is large; logs and scripts stay. */
    public void end() throws IOException {
        close();
        Path home = launcher.home();
        if (!Files.exists(home)) {
            return;
        }
        try (Stream<Path> all = Files.walk(home)) {
            for (Path each : all.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(each);
            }
        }
    }

    /** Ends the file's workers. */
    @Override
    public void close() {
        shared.values().forEach(WorkerProcess::close);
        shared.clear();
    }
}
