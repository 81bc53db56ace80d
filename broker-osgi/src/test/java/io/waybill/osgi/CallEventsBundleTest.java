package io.waybill.osgi;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.event.CallEvent;
import io.waybill.api.journal.JournalReader;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.query.JournalAccess;
import io.waybill.testing.core.Waits;
import io.waybill.worker.Worker;
import io.waybill.worker.Workers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Listeners of bundles in a real framework and a real home, while their bundle is updated. */
@Timeout(240)
class CallEventsBundleTest {

    @TempDir
    Path directory;

    private BundleForge forge;
    private Workers workers;
    private Worker worker;
    private Worker caller;
    private TestNode node;

    @BeforeEach
    void start() throws Exception {
        forge = new BundleForge(Files.createDirectories(directory.resolve("forge")));
        workers = new Workers(directory);
        HandlerRegistry registry = workers.registry();
        workers.handle(registry, "text.count", (message, outbox) -> outbox.respond(Value.of(1)));
        worker = workers.join("node", registry);
        caller = workers.join("caller");
        node = new TestNode(directory.resolve("node"), registry, worker.interceptors(), worker.brokers());
    }

    @AfterEach
    void stop() throws Exception {
        node.close();
        workers.close();
    }

    private void call() {
        caller.call(Request.operation("node", "text.count")).close();
    }

    private Path example(String version) throws Exception {
        String source = Files.readString(Path.of("src/test/java/org/acme/counts/HandlerCounts.java"));
        return forge.bundle("org.acme.counts", version)
                .library("org.acme.counts", "HandlerCounts", source.substring(source.indexOf(';') + 1))
                .header("-privatepackage", "org.acme.counts")
                .build();
    }

    @Test
    void passesEventsToTheVersionThatIsInstalledAndLetsTheOldOneGo() throws Exception {
        node.bundles().install(example("1.0.0"));
        call();
        Waits.until("it counts", () -> count() == 1);
        for (int version = 2; version < 5; version++) {
            node.bundles().update(example(version + ".0.0"));
            call();
            long expected = version;
            Waits.until("each call is counted once", () -> count() == expected);
        }
        node.bundles().uninstall("org.acme.counts");
        assertThat(worker.events().isEmpty()).isTrue();
        call();
        assertThat(count()).isEqualTo(4);
        Waits.until("the class loaders are unreachable", () -> {
            System.gc();
            return node.host.loaders().leaked(Duration.ZERO).isEmpty();
        });
    }

    @Test
    void nameTheVersionThatServedEachCallAsTheJournalDoes() throws Exception {
        Map<Long, String> seen = new ConcurrentHashMap<>();
        worker.events().add("test 1", event -> {
            if (event.kind() == CallEvent.Kind.RESPONDED) {
                seen.put(event.id(), event.responder());
            }
        });
        List<Long> ids = new ArrayList<>();
        node.bundles().install(words("1.0.0"));
        for (String version : List.of("1.0.0", "2.0.0", "3.0.0")) {
            if (!version.equals("1.0.0")) {
                node.bundles().update(words(version));
            }
            worker.ready(Map.of()); // as a node publishes what it serves now
            try (Response response = caller.call(Request.operation("node", "words.count"))) {
                assertThat(response.value()).isEqualTo(Value.of("caller"));
                ids.add(response.id());
            }
        }
        Waits.until("each call is reported", () -> seen.keySet().containsAll(ids));
        assertThat(ids)
                .extracting(seen::get)
                .containsExactly("org.acme.words 1.0.0", "org.acme.words 2.0.0", "org.acme.words 3.0.0");
        try (JournalReader journal = JournalAccess.of(workers.home.path()).open()) {
            for (long id : ids) {
                assertThat(journal.find(id).orElseThrow().responder()).contains(seen.get(id));
            }
        }
    }

    private Path words(String version) throws Exception {
        return forge.bundle("org.acme.words", version)
                .handler("Words", "\"words.count\"", "outbox.respond(Value.of(message.caller().name()));")
                .build();
    }

    private long count() {
        return worker.brokers().counts().getOrDefault("org.acme.counts/begun", 0L);
    }

    @Test
    void showsADroppedListenerAsTheProblemOfItsBundle() throws Exception {
        node.bundles()
                .install(forge.bundle("org.acme.bad", "1.0.0")
                        .source(
                                "Bad",
                                "@Component public final class Bad implements io.waybill.api.event.CallEvents {"
                                        + " @Override public void onEvent(io.waybill.api.event.CallEvent event) {"
                                        + " throw new IllegalStateException(\"planted\"); } }")
                        .build());
        for (int i = 0; i < 5; i++) {
            call();
        }
        Waits.until("it is shown", () -> problem().contains("it failed 10 times, last with"));
        assertThat(worker.events().isEmpty()).isTrue();
    }

    private String problem() {
        Value bundles = node.call("control:bundle.list", Map.of()).field("bundles");
        return ((Value.Items) bundles)
                .values().stream()
                        .map(bundle -> ((Value.Dict) bundle).entries())
                        .filter(bundle -> bundle.get(Value.of("name")).equals(Value.of("org.acme.bad")))
                        .map(bundle -> bundle.get(Value.of("problem")).toString())
                        .findFirst()
                        .orElse("");
    }
}
