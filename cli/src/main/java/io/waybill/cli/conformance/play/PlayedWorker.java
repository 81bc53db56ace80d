package io.waybill.cli.conformance.play;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import io.waybill.cli.conformance.format.Datum;
import io.waybill.cli.conformance.format.DatumReader;
import io.waybill.cli.conformance.format.Fields;
import io.waybill.cli.conformance.format.FormatException;
import io.waybill.cli.conformance.format.Step;
import io.waybill.cli.conformance.format.WorkerPlan;
import io.waybill.cli.node.Node;
import io.waybill.cli.node.NodeConf;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.home.Home;
import io.waybill.home.JoinOptions;
import io.waybill.host.Host;
import io.waybill.tensor.HostMemory;
import io.waybill.tensor.NativeMemory;
import io.waybill.worker.Worker;
import io.waybill.worker.WorkerSettings;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;

/**
 * A worker's process: reads one JSON object per line, does what it says, and answers with one.
 *
 * <pre>
 * in                                    out
 * {"worker": NAME, "plan": {…}, "scripts": DIR}  {"ready": NAME}
 * {"case": NAME, "inputs": {…}}         {"passed": true}
 * {"step": {…}}                         {"passed": true} or {"failed": TEXT}
 * {"end": true}                         {"passed": true}
 * </pre>
 *
 * <p><b>Threads.</b> One.
 */
public final class PlayedWorker {

    private final Home home;
    private final Path distribution;
    private final String version;
    private final SharedReferences shared = new SharedReferences();
    private Stage stage;
    private Player player;

    /** @param distribution whose bundles a node hosts */
    public PlayedWorker(Home home, Path distribution, String version) {
        this.home = home;
        this.distribution = distribution;
        this.version = version;
    }

    /** Goes on until the input ends. */
    public void run(BufferedReader in, PrintWriter out) throws IOException {
        try {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                out.println(answer(line));
                out.flush();
            }
        } finally {
            endCase();
            if (stage != null) {
                stage.leave();
            }
        }
    }

    private String answer(String line) throws IOException {
        try {
            Fields said = Fields.of("a line", DatumReader.read(line));
            if (said.has("worker")) {
                return said("ready", join(said));
            } else if (said.has("case")) {
                begin(said);
            } else if (said.has("step")) {
                Optional<String> wrong = player.play(Step.of(said.require("step")));
                return wrong.isPresent() ? said("failed", wrong.get()) : said("passed", "");
            } else {
                endCase();
            }
            return said("passed", "");
        } catch (FormatException e) {
            return said("failed", e.getMessage());
        }
    }

    private static String said(String name, String text) throws IOException {
        StringWriter line = new StringWriter();
        try (JsonGenerator json = new JsonFactory().createGenerator(line)) {
            json.writeStartObject();
            json.writeStringField(name, text);
            json.writeEndObject();
        }
        return line.toString();
    }

    private String join(Fields said) throws IOException, FormatException {
        WorkerPlan plan = WorkerPlan.of(said.text("worker"), said.require("plan"));
        JoinOptions options = JoinOptions.defaults().withVersion(version).withId(plan.id());
        Gates gates = new Gates(home.host().clock());
        stage = plan.kind() == WorkerPlan.Kind.NODE
                ? node(plan, options, gates, Path.of(said.text("scripts")))
                : plain(plan, options, gates);
        return plan.name();
    }

    private Stage plain(WorkerPlan plan, JoinOptions options, Gates gates) throws IOException {
        Host host = home.host();
        WorkerSettings settings = settings(WorkerSettings.defaults(), plan);
        HandlerRegistry registry = new HandlerRegistry(settings.parking(), host.threads(), host.clock());
        Worker worker = Worker.join(home, plan.name(), options, settings, registry);
        new Operations(worker, gates, shared).publish(registry, version);
        worker.ready(Map.of());
        return new Stage(worker, worker::close, gates);
    }

    private Stage node(WorkerPlan plan, JoinOptions options, Gates gates, Path scripts) throws IOException {
        NodeConf read = NodeConf.read(distribution.resolve("conf"));
        NodeConf conf = new NodeConf(
                read.directory(),
                read.settings()
                        .withWorker(settings(read.settings().worker(), plan))
                        .withScripts(scripts.toAbsolutePath()),
                read.framework());
        Node node = Node.start(home, plan.name(), options, distribution, conf, Optional.empty());
        new Operations(node.worker(), gates, shared).publish(node.handlers(), version);
        return new Stage(node.worker(), node::close, gates);
    }

    private static WorkerSettings settings(WorkerSettings settings, WorkerPlan plan) {
        return plan.timeout().map(settings::withDefaultTimeout).orElse(settings).withInjection(plan.injection());
    }

    private void begin(Fields said) throws FormatException {
        endCase();
        HostMemory memory = new HostMemory(new NativeMemory(home.host().calls()));
        Map<String, Datum> inputs = said.object("inputs");
        player = new Player(stage, memory, inputs);
    }

    private void endCase() {
        if (player != null) {
            player.close();
            player = null;
            shared.reset();
        }
    }
}
