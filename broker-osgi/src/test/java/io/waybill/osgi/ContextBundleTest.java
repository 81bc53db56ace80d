package io.waybill.osgi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.waybill.api.CallException;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.context.CallContext;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.worker.Worker;
import io.waybill.worker.Workers;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Contexts of calls from and to bundles in a real framework. */
@Timeout(120)
class ContextBundleTest {

    private static final String TENANT = "org.acme.tenant";

    @TempDir
    Path directory;

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
        workers.handle(
                registry,
                "text.tenant",
                (message, outbox) -> outbox.respond(
                        Value.of(CallContext.current().text(TENANT).orElse("none"))));
        peer = workers.join("peer", registry);
        node = new TestNode(directory.resolve("osgi"), own, worker.interceptors(), worker.brokers());
    }

    @AfterEach
    void stop() throws Exception {
        node.close();
        workers.close();
    }

    @Test
    void runsTheExampleOfTheBook() throws Exception {
        String source = Files.readString(Path.of("src/test/java/org/acme/tenant/Tenants.java"));
        node.bundles()
                .install(forge.bundle("org.acme.tenant", "1.0.0")
                        .library("org.acme.tenant", "Tenants", source.substring(source.indexOf(';') + 1))
                        .header("-privatepackage", "org.acme.tenant")
                        .build());
        node.bundles()
                .install(forge.bundle("org.acme.relay", "1.0.0")
                        .handler(
                                "Relay",
                                "\"text.relay\", \"other.relay\"",
                                "try (Response of = outbox.caller().call(Request.operation(\"peer\", \"text.tenant\"))) {"
                                        + " outbox.respond(of.value()); }")
                        .build());
        CallContext blue = CallContext.EMPTY.with(TENANT, "blue");
        assertThat(blue.supply(() -> text("text.relay"))).isEqualTo("blue");
        assertThat(text("other.relay")).isEqualTo("shared");
        assertThatExceptionOfType(CallException.class)
                .isThrownBy(() -> text("text.relay"))
                .withMessageContaining("the call has no tenant");
        assertThat(worker.brokers().counts())
                .containsEntry("org.acme.tenant/requests-blue", 1L)
                .doesNotContainKey("org.acme.tenant/requests-shared");
    }

    private String text(String operation) {
        try (Response response = peer.call(Request.operation("node", operation))) {
            return ((Value.Text) response.value()).value();
        }
    }
}
