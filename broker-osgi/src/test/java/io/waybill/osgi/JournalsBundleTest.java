package io.waybill.osgi;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.worker.Worker;
import io.waybill.worker.Workers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The journals of the home as a service, for a bundle in a real framework. */
@Timeout(240)
class JournalsBundleTest {

    /** Keeps its readers open, and leaves the last one to the next version by a property of the system. */
    private static final String COUNTS = """
            @Component @HandlesMessage("calls.count")
            public final class Counts implements MessageHandler {
                private final io.waybill.api.journal.JournalReader reader;
                private final Object left;
                @Activate
                public Counts(@Reference io.waybill.api.journal.Journals journals) throws java.io.IOException {
                    left = System.getProperties().get("journals.test");
                    reader = journals.open();
                    System.getProperties().put("journals.test", reader);
                }
                @Override
                public void handle(Message message, Outbox outbox) throws Exception {
                    long[] calls = {0};
                    reader.list(reader.query().operation("calls.*"), 0, call -> calls[0]++);
                    outbox.response().text("found", calls[0] + " calls, " + before());
                }
                private String before() {
                    if (left instanceof io.waybill.api.journal.JournalReader open) {
                        try {
                            return open.workers().size() + " workers";
                        } catch (java.io.IOException e) {
                            return e.getMessage();
                        }
                    }
                    return "no reader";
                }
            }
            """;

    @TempDir
    Path directory;

    private BundleForge forge;
    private Workers workers;
    private Worker caller;
    private TestNode node;

    @BeforeEach
    void start() throws Exception {
        forge = new BundleForge(Files.createDirectories(directory.resolve("forge")));
        workers = new Workers(directory);
        HandlerRegistry registry = workers.registry();
        Worker worker = workers.join("node", registry);
        caller = workers.join("caller");
        node = new TestNode(directory.resolve("node"), registry, worker.interceptors(), worker.brokers());
    }

    @AfterEach
    void stop() throws Exception {
        System.getProperties().remove("journals.test");
        node.close();
        workers.close();
    }

    private String count() {
        try (Response response =
                caller.call(Request.operation("node", "calls.count").timeout(Duration.ofSeconds(60)))) {
            return response.text("found");
        }
    }

    private Path version(String version) throws Exception {
        return forge.bundle("org.acme.counts", version).source("Counts", COUNTS).build();
    }

    @Test
    void areReadByABundleAndClosedWithIt() throws Exception {
        node.bundles().install(version("1.0.0"));
        assertThat(count()).isEqualTo("1 calls, no reader");
        assertThat(count()).isEqualTo("2 calls, no reader");
        node.bundles().update(version("2.0.0"));
        assertThat(count()).isEqualTo("3 calls, the reader of the journals is closed");
    }
}
