package io.waybill.testing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.waybill.api.CallException;
import io.waybill.api.Caller;
import io.waybill.api.Message;
import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.handler.Delivery;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.handler.Outbox;
import io.waybill.host.Host;
import io.waybill.replay.ReplayReport;
import io.waybill.testing.configured.Greeting;
import io.waybill.testing.core.Waits;
import io.waybill.testing.leaking.Count;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A good bundle passes all that the kit asserts; of each kind of bad one, what is said of it. */
@Timeout(value = 180, unit = TimeUnit.SECONDS)
class TestBrokerTest {

    private static final String SEVEN_WORDS = "to be or not to be that";

    @TempDir
    Path directory;

    private Path jars;

    @BeforeEach
    void makeDirectories() throws Exception {
        jars = Files.createDirectory(directory.resolve("jars"));
    }

    private TestBroker start(Path bundle) throws Exception {
        return TestBroker.start(Files.createTempDirectory(directory, "broker-"), bundle);
    }

    private static Request count(TestBroker broker, String text) {
        Request request = broker.request("text.count");
        request.body().text("text", text);
        return request;
    }

    private static long words(TestBroker broker, String text) {
        try (Response response = broker.call(count(broker, text))) {
            return response.int64("words");
        }
    }

    private static TrafficOutcome upgrade(TestBroker broker) throws Exception {
        return broker.upgradeUnderTraffic(() -> count(broker, SEVEN_WORDS), response -> response.int64("words") == 7);
    }

    @Test
    void findsNothingWrongWithAGoodBundle() throws Exception {
        Path bundle = PackedBundles.of(io.waybill.testing.good.Count.class, "1.0.0", jars);
        try (TestBroker broker = start(bundle)) {
            assertThat(words(broker, "to be")).isEqualTo(2);
            TrafficOutcome outcome = upgrade(broker);
            assertThat(outcome.calls()).isPositive().isEqualTo(outcome.responded());
            broker.assertNoLoaderLeaked();
            broker.assertPollerNotBlocked();
            assertThat(broker.assertReplays(broker.home()).calls()).isEqualTo(outcome.calls() + 1);
        }
    }

    @Test
    void namesTheCallWhoseResponseDiffersFromTheRecord() throws Exception {
        Path good = PackedBundles.of(io.waybill.testing.good.Count.class, "1.0.0", jars);
        Path bad = PackedBundles.of(io.waybill.testing.different.Count.class, "1.1.0", jars);
        try (TestBroker broker = start(good)) {
            words(broker, "to be");
            words(broker, SEVEN_WORDS);
            broker.upgrade(bad);
            assertThatThrownBy(() -> broker.assertReplays(broker.home()))
                    .isInstanceOf(AssertionError.class)
                    .hasMessageContaining("org.acme.count 1.1.0 does not respond as on record in " + broker.home())
                    .hasMessageContaining("of text.count, different: reply.words: recorded 7, replayed 8")
                    .message()
                    .hasLineCount(2);
        }
    }

    /** A candidate has no handlers of the test, and need not have them. */
    @Test
    void replaysNoCallsToHandlersOfTheTest() throws Exception {
        Path bundle = PackedBundles.of(io.waybill.testing.good.Count.class, "1.0.0", jars);
        try (TestBroker broker = start(bundle)) {
            broker.handle(TestBroker.SERVER, "stub.*", (message, outbox) -> outbox.respond(Value.of(1)));
            broker.handle(TestBroker.CALLER, "0x142", (message, outbox) -> outbox.respond(Value.of(2)));
            broker.handle(TestBroker.SERVER, "text.*", (message, outbox) -> outbox.respond(Value.of(3)));
            broker.call(broker.request("stub.any")).close();
            broker.call(broker.request("text.other")).close();
            broker.server()
                    .call(Request.raw(
                            TestBroker.CALLER, MessageType.userRequest(0x42), ByteBuffer.allocate(1), List.of()))
                    .close();
            assertThatThrownBy(() -> broker.assertReplays(broker.home())).hasMessageContaining("nothing was replayed");
            words(broker, "to be");
            ReplayReport report = broker.assertReplays(broker.home());
            assertThat(report.calls()).as("calls to the bundle").isOne();
            assertThat(report.left()).as("calls to handlers of the test").isGreaterThanOrEqualTo(3);
        }
    }

    @Test
    void saysThatThereIsNothingToReplay() throws Exception {
        Path bundle = PackedBundles.of(io.waybill.testing.good.Count.class, "1.0.0", jars);
        try (TestBroker broker = start(bundle)) {
            assertThatThrownBy(() -> broker.assertReplays(broker.home()))
                    .isInstanceOf(AssertionError.class)
                    .hasMessageContaining("nothing was replayed");
        }
    }

    @Test
    void countsRequestsThatAreLostInAnUpgrade() throws Exception {
        Path bundle = PackedBundles.of(io.waybill.testing.losing.Count.class, "1.0.0", jars);
        try (TestBroker broker = start(bundle).timeout(Duration.ofSeconds(2))) {
            assertThatThrownBy(() -> upgrade(broker))
                    .isInstanceOf(AssertionError.class)
                    .hasMessageContaining("while org.acme.count 1.0.0 was upgraded to 1.0.1, ")
                    .hasMessageMatching(
                            "(?s)of \\d+ calls .* [1-9]\\d* failed, 0 had a wrong response and 0 have no outcome:\n"
                                    + "  call .* ended with .*");
        }
    }

    @Test
    void namesTheVersionWhoseLoaderIsLeaked() throws Exception {
        Path bundle = PackedBundles.of(Count.class, "1.0.0", jars);
        try (TestBroker broker = start(bundle)) {
            words(broker, "to be");
            broker.upgrade(PackedBundles.of(io.waybill.testing.good.Count.class, "1.1.0", jars));
            broker.loaderLimit(Duration.ofSeconds(1));
            assertThatThrownBy(broker::assertNoLoaderLeaked)
                    .isInstanceOf(AssertionError.class)
                    .hasMessageContaining("the class loader of org.acme.count 1.0.0 can still be reached");
            System.getProperties().remove(Count.LEFT);
            broker.loaderLimit(Duration.ofSeconds(20));
            broker.assertNoLoaderLeaked();
        } finally {
            System.getProperties().remove(Count.LEFT);
        }
    }

    @Test
    void showsWhereAHandlerBlocksThePoller() throws Exception {
        Path bundle = PackedBundles.of(io.waybill.testing.blocking.Count.class, "1.0.0", jars);
        try (TestBroker broker = start(bundle)) {
            Throwable found = null;
            for (int i = 0; found == null && i < 100; i++) {
                words(broker, "to be");
                found = catchThrowable(broker::assertPollerNotBlocked);
            }
            assertThat(found)
                    .isInstanceOf(AssertionError.class)
                    .hasMessageContaining("a handler blocks the poller: server-poller-")
                    .hasMessageContaining("org.acme.count")
                    .hasMessageContaining("io.waybill.testing.blocking.Count.handle");
        }
    }

    @Test
    void saysWhyABundleDoesNotStart() throws Exception {
        Path empty = Files.createDirectory(directory.resolve("classes"));
        assertThatThrownBy(() -> start(empty))
                .hasMessageContaining("is no bundle")
                .hasMessageContaining("does bnd run");
    }

    @Test
    void servesAgainAfterARestartWithAllThatItHad() throws Exception {
        Path bundle = PackedBundles.of(io.waybill.testing.good.Count.class, "1.0.0", jars);
        try (TestBroker broker = start(bundle)) {
            broker.handle(TestBroker.SERVER, "text.test", (message, outbox) -> outbox.respond(Value.of("of the test")));
            assertThat(words(broker, "to be")).isEqualTo(2);
            broker.restart();
            assertThat(words(broker, "to be or not")).isEqualTo(4);
            try (Response response = broker.call(broker.request("text.test"))) {
                assertThat(response.value()).isEqualTo(Value.of("of the test"));
            }
            broker.upgrade(PackedBundles.of(io.waybill.testing.good.Count.class, "2.0.0", jars));
            broker.restart();
            assertThat(words(broker, "to")).isEqualTo(1);
            assertThat(broker.assertReplays(broker.home()).calls()).isEqualTo(3);
        }
    }

    @Test
    void hasFurtherWorkersThatCallAndServe() throws Exception {
        try (TestBroker broker = start(PackedBundles.of(io.waybill.testing.good.Count.class, "1.0.0", jars))) {
            Caller third = broker.join("third");
            try (Response response = third.call(count(broker, "to be"))) {
                assertThat(response.int64("words")).isEqualTo(2);
            }
            broker.handle("third", "text.test", (message, outbox) -> outbox.respond(Value.of(3)));
            try (Response response = broker.caller().call(Request.operation("third", "text.test"))) {
                assertThat(response.value()).isEqualTo(Value.of(3));
            }
            assertThatThrownBy(() -> broker.handle("fourth", "text.test", (message, outbox) -> {}))
                    .hasMessage("the workers of this test are [server, caller, third], not fourth");
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"third", TestBroker.SERVER})
    void losesNoCallWhileAWorkerRestarts(String worker) throws Exception {
        try (TestBroker broker = start(PackedBundles.of(io.waybill.testing.good.Count.class, "1.0.0", jars))) {
            broker.join("third");
            Caller before = broker.caller(worker);
            broker.handle(worker, "text.test", (message, outbox) -> outbox.respond(Value.of(3)));
            Traffic traffic = Traffic.start(
                    Host.real(),
                    broker.caller(),
                    () -> Request.operation(worker, "text.test"),
                    response -> response.value().equals(Value.of(3)),
                    Duration.ofSeconds(60));
            traffic.awaitMore(100);
            broker.restart(worker);
            traffic.awaitMore(100);
            TrafficOutcome outcome = traffic.end();
            assertThat(outcome.firstProblems()).isEmpty();
            assertThat(outcome.responded()).isEqualTo(outcome.calls());
            try (Response response = broker.caller(worker).call(count(broker, "to be"))) {
                assertThat(response.int64("words")).isEqualTo(2);
            }
            assertThatThrownBy(() -> before.call(count(broker, "to be")))
                    .as("the caller of the incarnation before")
                    .isInstanceOf(CallException.class);
        }
    }

    /** Runs again what its first incarnation had begun, and did not complete before it left. */
    @Delivery(Delivery.AT_LEAST_ONCE)
    private static final class Later implements MessageHandler {

        private final CountDownLatch begun = new CountDownLatch(1);

        @Override
        public void handle(Message message, Outbox outbox) {
            if (message.isRedelivery()) {
                outbox.respond(Value.of("begun before"));
            } else {
                outbox.later();
                begun.countDown();
            }
        }
    }

    @Test
    void keepsTheDeliveryThatAHandlerDeclares() throws Exception {
        try (TestBroker broker = start(PackedBundles.of(io.waybill.testing.good.Count.class, "1.0.0", jars))) {
            broker.join("third");
            Later handler = new Later();
            broker.handle("third", "text.later", handler);
            CompletableFuture<Response> call = broker.caller()
                    .callAsync(Request.operation("third", "text.later").timeout(Duration.ofSeconds(60)));
            handler.begun.await();
            broker.restart("third");
            try (Response response = call.get()) {
                assertThat(response.value()).isEqualTo(Value.of("begun before"));
            }
        }
    }

    @Test
    void hasNodesWithBundlesOfTheirOwn() throws Exception {
        Path greeting = PackedBundles.of(Greeting.class, "1.0.0", jars, "org.acme.greeting");
        try (TestBroker broker = start(PackedBundles.of(io.waybill.testing.good.Count.class, "1.0.0", jars))) {
            Path empty = Files.createDirectory(directory.resolve("classes"));
            assertThatThrownBy(() -> broker.join("other", WorkerSetup.of(greeting, empty)))
                    .hasMessageContaining("is no bundle");
            WorkerSetup setup = WorkerSetup.of(greeting).configured(Greeting.class.getName(), Map.of("text", "hello"));
            Caller other = broker.join("other", setup);
            try (Response response = other.call(count(broker, "to be"))) {
                assertThat(response.int64("words")).isEqualTo(2);
            }
            for (int incarnation = 1; incarnation <= 2; incarnation++) {
                try (Response response = broker.caller().call(Request.operation("other", "greeting.say"))) {
                    assertThat(response.text("text")).isEqualTo("hello");
                }
                broker.restart("other");
            }
            assertThat(broker.assertReplays(broker.home()).calls())
                    .as("calls to the tested bundle")
                    .isOne();
            assertThatThrownBy(() -> broker.caller().call(Request.operation("other", "text.count")))
                    .as("a call for the bundle of the first node")
                    .isInstanceOf(CallException.class);
            assertThatThrownBy(() -> broker.call(broker.request("greeting.say")))
                    .as("a call for the bundle of the other node")
                    .isInstanceOf(CallException.class);
        }
    }

    @Test
    void hasSettingsFromTheBeginningAndLaterOnes() throws Exception {
        Path bundle = PackedBundles.of(Greeting.class, "1.0.0", jars);
        Path other = PackedBundles.of(io.waybill.testing.good.Count.class, "1.0.0", jars, "org.acme.other");
        String pid = Greeting.class.getName();
        try (TestBroker broker = TestBroker.start(
                Files.createTempDirectory(directory, "broker-"),
                bundle,
                List.of(other),
                Map.of(pid, Map.of("text", "hello")))) {
            assertThat(greeting(broker)).isEqualTo("hello");
            assertThat(words(broker, "to be")).as("from the other bundle").isEqualTo(2);
            broker.configure(pid, Map.of("text", "good bye"));
            Waits.until("it has its settings", () -> greeting(broker).equals("good bye"));
        }
    }

    private static String greeting(TestBroker broker) {
        try (Response response = broker.call(broker.request("greeting.say"))) {
            return response.text("text");
        }
    }
}
