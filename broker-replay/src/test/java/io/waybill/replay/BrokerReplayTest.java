package io.waybill.replay;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.Request;
import io.waybill.api.WorkerInfo;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.osgi.BundleForge;
import io.waybill.osgi.OsgiHost;
import io.waybill.osgi.OsgiSettings;
import io.waybill.osgi.whiteboard.DeviceConverters;
import io.waybill.replay.state.LackedInput;
import io.waybill.worker.Worker;
import io.waybill.worker.Workers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What a bundle gets of its worker in a replay, and what is said of handlers that use it. */
@Timeout(180)
class BrokerReplayTest {

    private static final NodeDistribution DISTRIBUTION = NodeDistribution.of(Path.of("target/system-bundles"));

    /** Needs the figures of the home, and asks for everything that is not on record. */
    private static final String PROBE = """
            @Component @HandlesMessage("probe.*")
            public final class Probe implements MessageHandler {
                private final io.waybill.api.broker.Broker broker;
                private final io.waybill.api.metrics.HomeMetrics metrics;
                private final io.waybill.api.journal.Journals journals;
                @Activate
                public Probe(
                        @Reference io.waybill.api.broker.Broker broker,
                        @Reference io.waybill.api.metrics.HomeMetrics metrics,
                        @Reference io.waybill.api.journal.Journals journals) {
                    this.broker = broker;
                    this.journals = journals;
                    this.metrics = metrics;
                    broker.replay().ifPresent(replay -> replay.lacks("nothing, while no request is handled"));
                    broker.gauge("peers", () -> broker.peers().size()); // which a replay never asks
                }
                @Override
                public void handle(Message message, Outbox outbox) throws RejectedMessageException {
                    outbox.response().text("found", found(message.text("what")));
                }
                private String found(String what) {
                    try {
                        return switch (what) {
                            case "worker" -> broker.self().worker().name();
                            case "metrics" -> "" + metrics.read().size();
                            case "unused id" -> broker.nextId() > 0 ? "an id" : "none";
                            case "peers" -> "" + broker.peers().size();
                            case "clock" -> broker.clock().instant().toString();
                            case "call" -> "" + broker.caller().call(Request.operation("caller", "probe.any")
                                    .timeout(java.time.Duration.ofMillis(1)));
                            case "journals" -> {
                                try (io.waybill.api.journal.JournalReader reader = journals.open()) {
                                    yield reader.workers().size() + " workers";
                                }
                            }
                            case "model" -> {
                                broker.replay().ifPresent(replay -> replay.lacks("the model of its program"));
                                yield broker.replay().isPresent() ? "no model" : "a model";
                            }
                            default -> throw new IllegalArgumentException(what);
                        };
                    } catch (java.io.IOException | RuntimeException e) {
                        return e.getClass().getName();
                    }
                }
            }
            """;

    @TempDir
    private Path directory;

    private Path recorded() throws Exception {
        Path jar = new BundleForge(Files.createDirectory(directory.resolve("jars")))
                .bundle("org.acme.probe", "1.0.0")
                .source("Probe", PROBE)
                .build();
        try (Workers workers = new Workers(directory)) {
            HandlerRegistry registry = workers.registry();
            Worker node = workers.join("node", registry);
            OsgiSettings settings = OsgiSettings.builder(
                            DISTRIBUTION.bundles(),
                            node.directory().subdirectory("bundles"),
                            node.directory().subdirectory("osgi"),
                            directory.resolve("conf"))
                    .build();
            try (OsgiHost osgi = OsgiHost.start(
                    settings,
                    registry,
                    DeviceConverters.into(node.devices()),
                    node.interceptors(),
                    Optional.of(node.brokers()),
                    workers.host)) {
                osgi.bundles().install(jar);
                Worker caller = workers.join("caller");
                for (String what :
                        new String[] {"worker", "unused id", "metrics", "peers", "clock", "call", "model", "journals"
                        }) {
                    Request request = Request.operation("node", "probe.ask");
                    request.body().text("what", what);
                    caller.call(request).close();
                }
            }
            return workers.home.path();
        }
    }

    @Test
    void saysWhatIsOnNoRecord() throws Exception {
        Path home = recorded();
        Map<Integer, String> found = new TreeMap<>();
        Replay.of(home)
                .in(DISTRIBUTION)
                .worker("node")
                .run(call -> call.results()
                        .forEach(result -> found.put(found.size(), result.verdict() + " " + result.reason())));
        assertThat(found).hasSize(8);
        String lacks = "it needs what is not on record: ";
        assertThat(found.get(0)).as("a component that needs HomeMetrics").isEqualTo("SAME ");
        assertThat(found.get(1)).isEqualTo("SAME " + lacks + "the id that Broker.nextId() returned");
        assertThat(found.get(2))
                .startsWith(
                        "NOT_REPLAYABLE " + lacks + "what HomeMetrics.read() returned; its response: reply.found: ");
        assertThat(found.get(3)).startsWith("NOT_REPLAYABLE " + lacks + "the peers that Broker.peers() returned; its");
        assertThat(found.get(4)).startsWith("NOT_REPLAYABLE " + lacks + "the time of Broker.clock(); its");
        assertThat(found.get(5))
                .startsWith(
                        "NOT_REPLAYABLE " + lacks
                                + "the outcome of a call that its bundle made outside of a handler; its response: reply.found: ");
        assertThat(found.get(6))
                .isEqualTo(
                        "NOT_REPLAYABLE " + lacks
                                + "the model of its program; its response: reply.found: recorded 'a model', replayed 'no model'");
        assertThat(found.get(7))
                .startsWith("NOT_REPLAYABLE " + lacks + "what Journals read; its response: reply.found: ");
    }

    /** The comparison comes on a thread of its own, at any moment: the handler that runs then would be charged with it. */
    @Test
    void aSubscriptionLeavesNoMarkOnTheCallThatRuns() {
        LackedInput lacked = new LackedInput();
        try (LackedInput.Run run = lacked.begin()) {
            assertThat(new ReplayBackend(new WorkerInfo(3, "node"), lacked).peers())
                    .isEmpty();
            assertThat(run.lacked()).isEmpty();
        }
    }
}
