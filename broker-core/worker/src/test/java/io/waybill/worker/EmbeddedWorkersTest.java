package io.waybill.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.Message;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.broker.Broker;
import io.waybill.api.handler.HandlesMessage;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.handler.Outbox;
import io.waybill.api.intercept.HandlerInterceptor;
import io.waybill.api.intercept.InterceptedMessage;
import io.waybill.api.intercept.InterceptsMessage;
import io.waybill.api.policy.Decision;
import io.waybill.dispatch.AccessPolicies;
import io.waybill.dispatch.ExecutorSettings;
import io.waybill.dispatch.HandlerExecutor;
import io.waybill.dispatch.HandlerKey;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.HandlerSpec;
import io.waybill.dispatch.ParkingSettings;
import io.waybill.dispatch.Provider;
import io.waybill.home.Home;
import io.waybill.home.JoinOptions;
import io.waybill.host.Host;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;
import java.util.StringTokenizer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Workers in a program without OSGi, as {@code docs/extending/embedding.md} shows them. */
@Timeout(60)
class EmbeddedWorkersTest {

    private final Host host = Host.real();

    /** Counts words, as a bundle's component. */
    @HandlesMessage("text.count")
    private static final class WordCount implements MessageHandler {
        @Override
        public void handle(Message message, Outbox outbox) throws RejectedMessageException {
            outbox.response().int64("words", new StringTokenizer(message.text("text")).countTokens());
        }
    }

    /** Counts requests, as a bundle's component. */
    @InterceptsMessage("text.*")
    private static final class Audit implements HandlerInterceptor {
        private final Broker broker;

        Audit(Broker broker) {
            this.broker = broker;
        }

        @Override
        public void before(InterceptedMessage message, Outbox outbox) {
            broker.counter("requests").increment();
        }
    }

    @Test
    void callEachOther(@TempDir Path directory) throws IOException {
        Path home = directory.resolve("home");
        try (Worker server = Waybill.connect(home, "server")
                        .with("text.count", (message, outbox) -> {
                            int words = new StringTokenizer(message.text("text")).countTokens();
                            outbox.response().int64("words", words);
                        })
                        .join();
                Worker client = Waybill.connect(home, "client").join()) {
            Request request = Request.operation(server.info().name(), "text.count");
            request.body().text("text", "to be or not to be");
            try (Response response = client.call(request)) {
                assertThat(response.int64("words")).isEqualTo(6);
            }
        }
    }

    @Test
    void useComponentsOfBundles(@TempDir Path directory) throws IOException {
        Path home = directory.resolve("home");
        try (Worker server = Waybill.connect(home, "server")
                        .with(new WordCount())
                        .withBroker(Audit::new)
                        .join();
                Worker client = Waybill.connect(home, "client").join()) {
            Request request = Request.operation("server", "text.count");
            request.body().text("text", "to be");
            try (Response response = client.call(request)) {
                assertThat(response.int64("words")).isEqualTo(2);
            }
            assertThat(server.broker().counter("requests").sum()).isEqualTo(1);
        }
    }

    @Test
    void decideWhomTheyServe(@TempDir Path directory) throws IOException {
        Home home = Home.open(directory.resolve("home"), host);
        HandlerRegistry handlers = registry();
        Provider provider = new Provider("my-program", "1.0");
        HandlerExecutor executor = handlers.newExecutor(provider, ExecutorSettings.forProcessors(2));
        MessageHandler one = (message, outbox) -> outbox.respond(Value.of(1));
        handlers.add(HandlerSpec.of(HandlerKey.parse("text.count"), one, provider, executor));
        AccessPolicies.Registration policy = handlers.policies()
                .add(
                        provider,
                        request -> request.workerName().equals("client")
                                ? Decision.allow()
                                : Decision.deny("only client may call"));

        try (Worker server = join(home, "server", handlers);
                Worker client = join(home, "client", registry());
                Worker other = join(home, "other", registry())) {
            server.ready(Map.of());
            Request request = Request.operation("server", "text.count");
            client.call(request).close();
            assertThatThrownBy(() -> other.call(Request.operation("server", "text.count")))
                    .hasMessageContaining("only client may call");
            policy.remove();
            other.call(Request.operation("server", "text.count")).close();
        }
    }

    private HandlerRegistry registry() {
        return new HandlerRegistry(ParkingSettings.DEFAULT, host.threads(), host.clock());
    }

    private static Worker join(Home home, String name, HandlerRegistry handlers) throws IOException {
        return Worker.join(home, name, JoinOptions.defaults(), WorkerSettings.defaults(), handlers);
    }
}
