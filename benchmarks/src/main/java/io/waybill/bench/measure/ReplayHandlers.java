package io.waybill.bench.measure;

import io.waybill.api.Message;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Value;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.handler.Outbox;
import io.waybill.dispatch.ExecutorSettings;
import io.waybill.dispatch.HandlerKey;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.HandlerSpec;
import io.waybill.dispatch.Provider;
import io.waybill.replay.recording.RecordedMessage;
import io.waybill.wire.MessageBuffer;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.StringTokenizer;

/**
 * Handlers of the replay benchmark for recorded and replayed calls: calls by name, of a function, and of a type with
 * raw bytes. Stateless.
 */
public final class ReplayHandlers {

    private ReplayHandlers() {}

    public static void fill(HandlerRegistry registry) {
        add(registry, "0x142", (message, outbox) -> outbox.respond(reversed(message.payload())));
        fillNamed(registry);
    }

    /**
     * Adds the same handlers, with one wrong response per number of calls: to those with raw bytes that begin with a
     * multiple of it, and three.
     */
    public static void fillWithOneWrong(HandlerRegistry registry, int oneIn) {
        add(registry, "0x142", (message, outbox) -> {
            ByteBuffer response = reversed(message.payload());
            boolean wrong = message.payload().getInt() % oneIn == 3;
            outbox.respond(wrong ? response.put(0, (byte) ~response.get(0)) : response);
        });
        fillNamed(registry);
    }

    private static void fillNamed(HandlerRegistry registry) {
        add(registry, "text.count", ReplayHandlers::count);
        add(registry, "math.total", ReplayHandlers::total);
        add(registry, "function:text.join", ReplayHandlers::join);
    }

    /** Returns the number at the start of a call with raw bytes. */
    public static int number(RecordedMessage request) {
        return request.in(new MessageBuffer()).payload().getInt();
    }

    private static void add(HandlerRegistry registry, String key, MessageHandler handler) {
        Provider provider = new Provider("bench", "1");
        registry.add(new HandlerSpec(
                List.of(HandlerKey.parse(key)),
                handler,
                true,
                provider,
                0,
                ReplayHandlers.class.getClassLoader(),
                registry.newExecutor(provider, ExecutorSettings.forProcessors(2))));
    }

    private static void count(Message message, Outbox outbox) throws RejectedMessageException {
        String text = message.text("text");
        outbox.response()
                .int64("words", new StringTokenizer(text).countTokens())
                .int64("characters", text.length());
    }

    private static void total(Message message, Outbox outbox) throws RejectedMessageException {
        double total = message.float64("first") * message.float64("second") + message.int64("third");
        outbox.response().float64("total", total);
    }

    private static void join(Message message, Outbox outbox) throws RejectedMessageException {
        StringBuilder joined = new StringBuilder();
        for (Value part : message.invocation().positional()) {
            joined.append(((Value.Text) part).value()).append(' ');
        }
        outbox.respond(Value.of(joined.toString()));
    }

    private static ByteBuffer reversed(ByteBuffer payload) {
        ByteBuffer reversed = ByteBuffer.allocate(payload.remaining());
        for (int i = payload.limit() - 1; i >= payload.position(); i--) {
            reversed.put(payload.get(i));
        }
        return reversed.flip();
    }
}
