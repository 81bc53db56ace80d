package io.waybill.osgi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.tuple;

import io.waybill.api.CallException;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.admin.BundleInfo;
import io.waybill.api.admin.Canary;
import io.waybill.api.admin.HandlerInfo;
import io.waybill.dispatch.CanaryRule;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.osgi.jar.BundleRefusedException;
import io.waybill.testing.core.Waits;
import io.waybill.worker.Worker;
import io.waybill.worker.Workers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The next version of a bundle gets a share of the requests, until it is promoted or rolled back. */
@Timeout(240)
class CanaryBundleTest {

    private static final String NAME = "org.acme.count";

    @TempDir
    private Path directory;

    private BundleForge forge;
    private Workers workers;
    private HandlerRegistry handlers;
    private Worker trainer;
    private Worker other;
    private TestNode node;

    @BeforeEach
    void start() throws Exception {
        forge = new BundleForge(Files.createDirectories(directory.resolve("forge")));
        workers = new Workers(directory);
        handlers = workers.registry();
        Worker worker = workers.join("node", handlers);
        trainer = workers.join("trainer-0");
        other = workers.join("other");
        node = new TestNode(directory.resolve("osgi"), handlers, worker.interceptors(), worker.brokers());
    }

    @AfterEach
    void stop() throws Exception {
        node.close();
        workers.close();
    }

    /** Responds with its version and its request's id; calls of {@code text.nested} and messages inside it, too. */
    private Path version(int version, String before) throws Exception {
        return forge.bundle(NAME, version + ".0.0")
                .handler(
                        "Count",
                        "\"text.count\", \"math.count\"",
                        before + " outbox.response().int64(\"version\", " + version
                                + ").text(\"id\", Long.toString(message.id()));")
                .handler(
                        "Nested",
                        "\"text.nested\"",
                        "try (Response inner = outbox.caller().call(Request.operation(\"node\", \"text.count\"))) {"
                                + " outbox.response().int64(\"version\", " + version
                                + ").text(\"id\", Long.toString(inner.int64(\"version\"))); }")
                .build();
    }

    private static Canary canary(double percent, String caller, String operation, String rollbackIf) {
        return new Canary(
                percent, Optional.ofNullable(caller), Optional.ofNullable(operation), Optional.ofNullable(rollbackIf));
    }

    private static Request request(String operation) {
        return Request.operation("node", operation).timeout(Duration.ofSeconds(60));
    }

    private static long version(Worker caller, String operation) {
        try (Response response = caller.call(request(operation))) {
            return response.int64("version");
        }
    }

    /** Calls an operation that many times; returns the versions that responded, by message id. */
    private static Map<Long, Long> versions(Worker caller, int calls) throws Exception {
        List<CompletableFuture<Response>> responses = new ArrayList<>();
        Map<Long, Long> versions = new TreeMap<>();
        for (int i = 0; i < calls; i++) {
            responses.add(caller.callAsync(request("text.count")));
            if (responses.size() == 100 || i == calls - 1) {
                for (CompletableFuture<Response> each : responses) {
                    try (Response response = each.get(60, TimeUnit.SECONDS)) {
                        versions.put(Long.parseLong(response.text("id")), response.int64("version"));
                    }
                }
                responses.clear();
            }
        }
        return versions;
    }

    private List<BundleStatus> listed() {
        return node.bundles().list().stream()
                .filter(bundle -> bundle.kind() == BundleInfo.Kind.HANDLER)
                .toList();
    }

    @Test
    void aShareGoesToTheNextVersionByMessageId() throws Exception {
        node.bundles().install(version(1, ""));
        BundleStatus status = node.bundles().canary(version(2, ""), Canary.ofPercent(5));
        assertThat(status.state()).isEqualTo(BundleInfo.State.CANARY);
        assertThat(status.share()).contains("5.0%");
        assertThat(listed())
                .extracting(BundleStatus::version, BundleStatus::state)
                .containsExactly(tuple("1.0.0", BundleInfo.State.ACTIVE), tuple("2.0.0", BundleInfo.State.CANARY));

        Map<Long, Long> versions = versions(trainer, 20_000);
        CanaryRule rule = new CanaryRule(5, Optional.empty(), Optional.empty());
        assertThat(versions).hasSize(20_000);
        versions.forEach((id, version) ->
                assertThat(version).as("version that handled %d", id).isEqualTo(rule.selects(id, "trainer-0") ? 2 : 1));
        assertThat(versions.values().stream().filter(version -> version == 2).count())
                .as("requests of the canary")
                .isBetween(900L, 1_100L);
        assertThat(handlers.statuses())
                .filteredOn(each -> each.key().text().equals("text.count"))
                .extracting(each -> each.state(), each -> each.done())
                .containsExactlyInAnyOrder(
                        tuple(
                                HandlerInfo.State.SERVING,
                                versions.values().stream().filter(v -> v == 1).count()),
                        tuple(
                                HandlerInfo.State.CANARY,
                                versions.values().stream().filter(v -> v == 2).count()));
    }

    @Test
    void callersAndOperationsSelectRequests() throws Exception {
        node.bundles().install(version(1, ""));
        node.bundles().canary(version(2, ""), canary(100, "trainer-*", "text.*", null));
        assertThat(version(trainer, "text.count")).isEqualTo(2);
        assertThat(version(trainer, "math.count")).as("another operation").isEqualTo(1);
        assertThat(version(other, "text.count")).as("another caller").isEqualTo(1);
    }

    @Test
    void whatAVersionAsksOfItsBundleGoesToTheSameVersion() throws Exception {
        node.bundles().install(version(1, ""));
        node.bundles().canary(version(2, ""), Canary.ofPercent(50));
        Map<Long, Long> seen = new TreeMap<>();
        for (int i = 0; i < 200; i++) {
            try (Response response = trainer.call(request("text.nested"))) {
                assertThat(response.text("id"))
                        .as("version of the nested call")
                        .isEqualTo(Long.toString(response.int64("version")));
                seen.merge(response.int64("version"), 1L, Long::sum);
            }
        }
        assertThat(seen).containsOnlyKeys(1L, 2L);
    }

    @Test
    void aCanaryIsPromoted() throws Exception {
        node.bundles().install(version(1, ""));
        node.bundles().canary(version(2, ""), canary(100, "nobody", null, null));
        assertThat(version(trainer, "text.count")).isEqualTo(1);
        assertThat(node.bundles().promote(NAME).version()).isEqualTo("2.0.0");
        assertThat(version(trainer, "text.count")).isEqualTo(2);
        assertThat(listed())
                .extracting(BundleStatus::version, BundleStatus::state)
                .containsExactly(tuple("2.0.0", BundleInfo.State.ACTIVE));
        assertThatExceptionOfType(BundleRefusedException.class)
                .isThrownBy(() -> node.bundles().promote(NAME))
                .withMessageContaining("no canary of org.acme.count is there");
        node.bundles().update(version(3, ""));
        assertThat(version(trainer, "text.count")).isEqualTo(3);
        loadersAreUnreachable();
    }

    @Test
    void aCanaryIsRolledBack() throws Exception {
        node.bundles().install(version(1, ""));
        node.bundles().canary(version(2, ""), Canary.ofPercent(100));
        assertThat(version(trainer, "text.count")).isEqualTo(2);
        assertThat(node.bundles().rollBack(NAME).version()).isEqualTo("1.0.0");
        assertThat(version(trainer, "text.count")).isEqualTo(1);
        assertThat(listed())
                .extracting(BundleStatus::version, BundleStatus::state)
                .containsExactly(tuple("1.0.0", BundleInfo.State.ACTIVE));
        loadersAreUnreachable();
    }

    @Test
    void aRuleRollsBackACanaryThatFails() throws Exception {
        node.bundles().install(version(1, ""));
        String failsOneInFifty = "if (Long.remainderUnsigned(message.id(), 50) == 0) {"
                + " throw new IllegalStateException(\"one in fifty\"); }";
        node.bundles().canary(version(2, failsOneInFifty), canary(100, null, null, "errors>1%"));
        long failed = 0;
        long ended = 0;
        long untilNs = System.nanoTime() + Duration.ofSeconds(120).toNanos();
        while (listed().size() == 2 && System.nanoTime() < untilNs) {
            try {
                trainer.call(request("text.count")).close();
                ended++;
            } catch (CallException e) {
                failed++;
                assertThat(e).hasMessageContaining("one in fifty");
            }
        }
        assertThat(ended + failed).as("requests before the rule applies").isGreaterThanOrEqualTo(200);
        assertThat(listed()).extracting(BundleStatus::version).containsExactly("1.0.0");
        assertThat(listed().get(0).problem().orElse(""))
                .matches(
                        "org.acme.count 2.0.0 was rolled back: \\d+ of its \\d+ requests failed, .*errors>1.0% of 200");
        assertThat(version(trainer, "text.count")).isEqualTo(1);
    }

    @Test
    void aRuleLeavesACanaryThatDoesNotFail() throws Exception {
        node.bundles().install(version(1, ""));
        node.bundles().canary(version(2, ""), canary(100, null, null, "errors>0% of 1"));
        assertThat(versions(trainer, 500).values()).containsOnly(2L);
        assertThat(node.bundles().promote(NAME).version()).isEqualTo("2.0.0");
    }

    @Test
    void noOtherVersionComesBetween() throws Exception {
        node.bundles().install(version(1, ""));
        node.bundles().canary(version(2, ""), Canary.ofPercent(100));
        Path third = version(3, "");
        assertThatExceptionOfType(BundleRefusedException.class)
                .isThrownBy(() -> node.bundles().update(third))
                .withMessage(
                        "org.acme.count 2.0.0 is a canary beside org.acme.count 1.0.0; promote it or roll it back first");
        assertThatExceptionOfType(BundleRefusedException.class)
                .isThrownBy(() -> node.bundles().canary(third, Canary.ofPercent(1)))
                .withMessageContaining("promote it or roll it back first");
        assertThat(version(trainer, "text.count")).isEqualTo(2);
        node.bundles().stop(NAME);
        assertThat(listed())
                .extracting(BundleStatus::version, BundleStatus::state)
                .containsExactly(tuple("1.0.0", BundleInfo.State.STOPPED));
        node.bundles().uninstall(NAME);
        loadersAreUnreachable();
    }

    @Test
    void aCanaryIsRefused() throws Exception {
        node.bundles().install(version(1, ""));
        Path same = version(1, "");
        assertThatExceptionOfType(BundleRefusedException.class)
                .isThrownBy(() -> node.bundles().canary(same, Canary.ofPercent(5)))
                .withMessageContaining("expected another version than the running one, found the same");
        Path next = version(2, "");
        assertThatExceptionOfType(BundleRefusedException.class)
                .isThrownBy(() -> node.bundles().canary(next, Canary.ofPercent(0)))
                .withMessageContaining("found 0.0%");
        assertThatExceptionOfType(BundleRefusedException.class)
                .isThrownBy(() -> node.bundles().canary(next, canary(5, null, null, "p99>2x")))
                .withMessageContaining("found p99>2x");
        Path exclusive = forge.bundle(NAME, "2.0.0")
                .exclusive()
                .handler("Count", "\"text.count\"", "outbox.respond(Value.of(2));")
                .build();
        assertThatExceptionOfType(BundleRefusedException.class)
                .isThrownBy(() -> node.bundles().canary(exclusive, Canary.ofPercent(5)))
                .withMessageContaining("org.acme.count 1.0.0 is exclusive, or not active; update without --canary");
        assertThat(version(trainer, "text.count")).isEqualTo(1);
        assertThat(listed()).hasSize(1);
        try (var staged = Files.list(directory.resolve("osgi/cache/staging"))) {
            assertThat(staged).as("copies of refused jars").hasSizeLessThanOrEqualTo(1);
        }
    }

    /** An operation that only the canary has is free until its promotion. */
    @Test
    void aPromotionThatIsRefusedCanBeRepeated() throws Exception {
        node.bundles().install(version(1, ""));
        node.bundles()
                .canary(
                        forge.bundle(NAME, "2.0.0")
                                .handler("Count", "\"text.count\"", "outbox.response().int64(\"version\", 2);")
                                .handler("More", "\"text.more\"", "outbox.response().int64(\"version\", 2);")
                                .build(),
                        Canary.ofPercent(100));
        node.bundles()
                .install(forge.bundle("org.acme.other", "1.0.0")
                        .handler("Other", "\"text.more\"", "outbox.response().int64(\"version\", 7);")
                        .build());
        assertThatExceptionOfType(BundleRefusedException.class)
                .isThrownBy(() -> node.bundles().promote(NAME))
                .withMessageContaining("org.acme.count 2.0.0 claims text.more, which org.acme.other 1.0.0 handles");
        assertThat(version(trainer, "text.count")).as("the trial goes on").isEqualTo(2);
        assertThat(version(trainer, "text.more")).isEqualTo(7);

        node.bundles().uninstall("org.acme.other");
        node.bundles().promote(NAME);
        assertThat(version(trainer, "text.count")).isEqualTo(2);
        assertThat(version(trainer, "text.more"))
                .as("an operation of the canary alone")
                .isEqualTo(2);
        loadersAreUnreachable();
    }

    private void loadersAreUnreachable() {
        Waits.until("the old class loaders are unreachable", () -> {
            System.gc();
            return node.host.loaders().leaked(Duration.ZERO).isEmpty();
        });
    }
}
