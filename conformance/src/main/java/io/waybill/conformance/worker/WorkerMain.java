package io.waybill.conformance.worker;

import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.databind.JsonNode;
import io.waybill.conformance.cases.CaseFormatException;
import io.waybill.conformance.cases.CaseJson;
import io.waybill.conformance.cases.Step;
import io.waybill.conformance.cases.WorkerSpec;
import io.waybill.home.Home;
import io.waybill.host.Host;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;

/**
 * The process of a worker: reads one JSON object per line, does what it says, and writes one response to each: {@code
 * {}}, or {@code {"failed": TEXT}}.
 *
 * <pre>
 * {"worker": NAME, "id": N, "spec": {…}, "scripts": DIRECTORY}
 * {"case": NAME, "inputs": {…}}
 * {"step": {…}}
 * {"end": true}
 * </pre>
 *
 * <p><b>Threads.</b> One.
 */
public final class WorkerMain {

    /** A line; the field that is there says which. */
    private record Command(
            String worker,
            int id,
            JsonNode spec,
            String scripts,
            @JsonProperty("case") String begun,
            Map<String, JsonNode> inputs,
            JsonNode step,
            boolean end) {}

    private final Path distribution;
    private final Home home;
    private TestWorker worker;
    private StepDriver driver;

    private WorkerMain(Path distribution, Home home) {
        this.distribution = distribution;
        this.home = home;
    }

    /** @param args the directory of the distribution, and that of the home */
    public static void main(String[] args) throws IOException {
        WorkerMain main = new WorkerMain(Path.of(args[0]), Home.open(Path.of(args[1]), Host.real()));
        main.run(new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8)));
        System.exit(0); // whatever threads libtorch left
    }

    private void run(BufferedReader in) throws IOException {
        try {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                Optional<String> wrong = responseTo(line);
                System.out.println(
                        wrong.map(text -> CaseJson.object().put("failed", text)).orElseGet(CaseJson::object));
            }
        } finally {
            endCase();
            if (worker != null) {
                worker.leave();
            }
        }
    }

    private Optional<String> responseTo(String line) throws IOException {
        try {
            Command command = CaseJson.read(line, Command.class);
            if (command.worker != null) {
                WorkerSpec spec = WorkerSpec.of(command.worker, command.spec);
                Path scripts = Path.of(command.scripts);
                worker = TestWorker.join(home, distribution, command.worker, command.id, spec, scripts);
            } else if (command.step != null) {
                return driver.run(Step.of(command.step));
            } else {
                endCase();
                driver = command.begun == null ? null : new StepDriver(worker, command.inputs);
            }
            return Optional.empty();
        } catch (CaseFormatException e) {
            return Optional.of(e.getMessage());
        }
    }

    private void endCase() {
        if (driver != null) {
            driver.close();
            driver = null;
        }
    }
}
