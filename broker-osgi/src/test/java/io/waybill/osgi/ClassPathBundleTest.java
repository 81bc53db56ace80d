package io.waybill.osgi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.osgi.jar.BundleRefusedException;
import io.waybill.testing.core.Waits;
import io.waybill.worker.Worker;
import io.waybill.worker.Workers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Set;
import org.acme.twice.Twice;
import org.assertj.core.api.SoftAssertions;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Bundles whose classes the program's class path has as well: a program that embeds a node and uses a plugin's jar as a library. And bundles that
 * contain the API.
 */
@Timeout(240)
class ClassPathBundleTest {

    /** Of every kind at once, and registered as a type of its bundle, too. */
    private static final String EVERYTHING = """
            @Component(service = {
                org.acme.twice.Twice.class, MessageHandler.class, CallInterceptor.class, HandlerInterceptor.class,
                AccessPolicy.class, DeviceConverter.class, ToolCommand.class, io.waybill.api.event.CallEvents.class
            })
            @HandlesMessage("text.count")
            @InterceptsMessage("text.*")
            @ConvertsDevice("toy")
            public final class Everything implements org.acme.twice.Twice, MessageHandler, CallInterceptor,
                    HandlerInterceptor, AccessPolicy, DeviceConverter, ToolCommand, io.waybill.api.event.CallEvents {
                private final Broker broker;

                @Activate
                public Everything(@Reference Broker broker) {
                    this.broker = broker;
                }

                @Override
                public void handle(Message message, Outbox outbox) {
                    outbox.respond(Value.of("one"));
                }

                @Override
                public void onRequest(OutgoingCall call) {
                    broker.counter("intercepted-calls").increment();
                }

                @Override
                public void before(InterceptedMessage message, Outbox outbox) {
                    broker.counter("intercepted-requests").increment();
                }

                @Override
                public io.waybill.api.policy.Decision decide(AccessRequest request) {
                    return request.operation().equals("text.secret")
                            ? io.waybill.api.policy.Decision.deny("it is secret")
                            : io.waybill.api.policy.Decision.allow();
                }

                @Override
                public Optional<String> unavailable() {
                    return Optional.empty();
                }

                @Override
                public Optional<Storage> prepareForSending(Storage storage, List<DeviceStream> streams, TensorBuffers buffers) {
                    return Optional.empty();
                }

                @Override
                public Storage allocateForReceiving(Storage arrived, Device target, List<DeviceStream> streams) {
                    return arrived;
                }

                @Override
                public ToolDescription description() {
                    return ToolDescription.of("everything", "Does nothing.");
                }

                @Override
                public void run(ToolRun run) {}

                @Override
                public void onEvent(io.waybill.api.event.CallEvent event) {
                    broker.counter("events").increment();
                }
            }
            """;

    @TempDir
    private Path directory;

    private BundleForge forge;
    private Workers workers;
    private Worker worker;
    private Worker peer;
    private TestNode node;

    @BeforeEach
    void start() throws Exception {
        forge = new BundleForge(Files.createDirectories(directory.resolve("forge")));
        workers = new Workers(directory);
        HandlerRegistry own = workers.registry();
        worker = workers.join("node", own);
        HandlerRegistry registry = workers.registry();
        workers.handle(registry, "text.other", (message, outbox) -> outbox.respond(Value.of("other")));
        peer = workers.join("peer", registry);
        node = new TestNode(directory.resolve("osgi"), own, worker);
    }

    @AfterEach
    void stop() throws Exception {
        node.close();
        workers.close();
    }

    private Map<String, Long> counts() {
        return worker.brokers().counts();
    }

    @Test
    void usesAServiceThatIsAlsoOfATypeOnTheClassPath() throws Exception {
        assertThat(Twice.class.getClassLoader()).isSameAs(getClass().getClassLoader());
        node.bundles()
                .install(forge.bundle("org.acme.twice", "1.0.0")
                        .library("org.acme.twice", "Twice", "public interface Twice {}")
                        .source("Everything", EVERYTHING)
                        .header("-privatepackage", "acme,org.acme.twice")
                        .build());
        SoftAssertions all = new SoftAssertions();
        all.assertThat(worker.interceptors().calls().statuses())
                .as("interceptors of calls")
                .hasSize(1);
        all.assertThat(worker.interceptors().handlers().statuses())
                .as("interceptors of handlers")
                .hasSize(1);
        all.assertThat(worker.devices().find("toy")).as("the converter").isPresent();
        all.assertThat(((Value.Items) node.call("control:tools.list", Map.of()).field("commands")).values())
                .as("commands")
                .hasSize(1);
        all.assertThat(node.registry.policies().current()).as("the policy").isNotNull();
        all.assertAll();

        try (Response response = peer.call(Request.operation("node", "text.count"))) {
            assertThat(response.value()).isEqualTo(Value.of("one"));
        }
        try (Response response = worker.call(Request.operation("peer", "text.other"))) {
            assertThat(response.value()).isEqualTo(Value.of("other"));
        }
        assertThatExceptionOfType(CallException.class)
                .isThrownBy(() -> peer.call(Request.operation("node", "text.secret")))
                .satisfies(e -> assertThat(e.code()).isEqualTo(ErrorCode.ACCESS_DENIED));
        Waits.until(
                () -> "interceptors and listeners are called: " + counts(),
                () -> counts().keySet()
                        .containsAll(Set.of(
                                "org.acme.twice/intercepted-calls",
                                "org.acme.twice/intercepted-requests",
                                "org.acme.twice/events")));
    }

    @ParameterizedTest
    @CsvSource({
        "handler, MessageHandler, @HandlesMessage(\"text.count\"), the handler of text.count",
        "intercept, CallInterceptor, @InterceptsMessage(\"text.*\"), the interceptor of text.*"
    })
    void refusesABundleThatContainsTheApi(String subpackage, String kind, String annotation, String what)
            throws Exception {
        String api = "io.waybill.api." + subpackage;
        Path jar = forge.bundle("org.acme.own", "1.0.0")
                .source(
                        "Own",
                        "@Component " + annotation + " public final class Own implements " + kind + " {"
                                + " @Override public void "
                                + (kind.equals("MessageHandler")
                                        ? "handle(Message message, Outbox outbox) {}"
                                        : "onRequest(OutgoingCall call) {}")
                                + " }")
                .header("-privatepackage", "acme," + api)
                .build();
        assertThatExceptionOfType(BundleRefusedException.class)
                .isThrownBy(() -> node.bundles().install(jar))
                .withMessageContaining(what + " is a acme.Own, which implements another " + api + "." + kind)
                .withMessageContaining("let the bundle import " + api + ", not contain it");
        assertThat(node.entry("text.count")).isNull();
        assertThat(worker.interceptors().calls().statuses()).isEmpty();
    }
}
