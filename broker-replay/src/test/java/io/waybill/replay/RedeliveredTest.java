package io.waybill.replay;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.Message;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.handler.Outbox;
import io.waybill.dispatch.DeliveryPolicy;
import io.waybill.dispatch.ExecutorSettings;
import io.waybill.dispatch.HandlerKey;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.HandlerSpec;
import io.waybill.dispatch.Provider;
import io.waybill.worker.Worker;
import io.waybill.worker.Workers;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A request that two incarnations of its worker began. */
@Timeout(120)
class RedeliveredTest {

    private static final String KEY = "count.up";

    @TempDir
    private Path directory;

    private static long ask(Outbox outbox, long n) {
        Request request = Request.operation("store", "store.add");
        request.body().int64("n", n);
        try (Response response = outbox.caller().call(request)) {
            return response.int64("n");
        }
    }

    private static void addAgain(Message message, Outbox outbox) throws RejectedMessageException {
        outbox.response().int64("n", ask(outbox, message.int64("n"))).bool("again", message.isRedelivery());
    }

    private static Worker join(Workers workers, String name, String key, MessageHandler handler) throws Exception {
        HandlerRegistry registry = workers.registry();
        Provider provider = new Provider("test", "1.0.0");
        HandlerSpec spec = HandlerSpec.of(
                HandlerKey.parse(key),
                handler,
                provider,
                registry.newExecutor(provider, ExecutorSettings.forProcessors(2)));
        registry.add(spec.withDelivery(DeliveryPolicy.AT_LEAST_ONCE));
        return workers.join(name, registry);
    }

    @Test
    void isReplayedAsTheIncarnationThatRespondedRanIt() throws Exception {
        Path home;
        CountDownLatch asked = new CountDownLatch(1);
        try (Workers workers = new Workers(directory)) {
            join(
                    workers,
                    "store",
                    "store.add",
                    (message, outbox) -> outbox.response().int64("n", message.int64("n") + 1));
            Worker first = join(workers, "callee", KEY, (message, outbox) -> {
                outbox.later(); // and never responds
                ask(outbox, 100);
                asked.countDown();
            });
            Request request = Request.operation("callee", KEY);
            request.body().int64("n", 4);
            CompletableFuture<Response> call = workers.join("caller").callAsync(request);
            assertThat(asked.await(20, TimeUnit.SECONDS)).isTrue();
            first.close();
            join(workers, "callee", KEY, RedeliveredTest::addAgain);
            try (Response response = call.get(20, TimeUnit.SECONDS)) {
                assertThat(response.bool("again")).isTrue();
            }
            home = workers.home.path();
        }
        List<String> shown = new ArrayList<>();
        new ReplayScenario()
                .handles("callee", KEY, RedeliveredTest::addAgain)
                .replay(home)
                .worker("callee")
                .run(replayed -> replayed.results().forEach(result -> shown.add(result.verdict() + result.reason())));
        assertThat(shown).containsExactly("SAME");
    }
}
