package io.waybill.replay;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.Message;
import io.waybill.api.MessageId;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.handler.Outbox;
import io.waybill.api.intercept.HandledMessage;
import io.waybill.api.intercept.HandlerInterceptor;
import io.waybill.api.intercept.InterceptedMessage;
import io.waybill.api.tensor.Tensor;
import io.waybill.query.MessageFilter;
import io.waybill.replay.compare.ReplayedCall;
import io.waybill.replay.compare.Verdict;
import io.waybill.testing.core.Seeds;
import io.waybill.worker.Worker;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * The command of a report's line {@code once more}, which selects a call by its id, gives what the report said: for random calls to handlers that remember,
 * have tensors on a device, call others, draw numbers, and are behind an interceptor that remembers.
 */
@Timeout(300)
class OnceMoreTest {

    private static final int CALLS = Integer.getInteger("waybill.once-more", 40);

    @TempDir
    private Path directory;

    private final ToyDevice toy = new ToyDevice();

    /** Remembers the last few numbers, and responds with their sum. A wrong one is wrong for some sums. */
    private static final class Window implements MessageHandler {
        private final Deque<Long> last = new ArrayDeque<>();
        private final boolean isWrong;

        Window(boolean isWrong) {
            this.isWrong = isWrong;
        }

        @Override
        public void handle(Message message, Outbox outbox) throws RejectedMessageException {
            last.add(message.int64("n"));
            if (last.size() > 5) {
                last.remove();
            }
            long sum = last.stream().mapToLong(Long::longValue).sum();
            outbox.response().int64("sum", isWrong && sum % 4 == 0 ? -sum : sum);
        }
    }

    /** Adds its argument to a tensor that stays on the device's side. */
    private final class Sums implements MessageHandler {
        private final byte[] sums = new byte[3];
        private final boolean isWrong;

        Sums(boolean isWrong) {
            this.isWrong = isWrong;
        }

        @Override
        public void handle(Message message, Outbox outbox) throws RejectedMessageException {
            byte[] more = ToyDevice.content(message.tensor("tensor"));
            for (int i = 0; i < sums.length; i++) {
                sums[i] += more[i];
            }
            byte[] shown = sums.clone();
            shown[2] += (byte) (isWrong && sums[0] % 3 == 0 ? 1 : 0);
            outbox.response().tensor("tensor", toy.tensor(shown));
        }
    }

    /** Refuses each fifth request that it sees. */
    private static final class Guard implements HandlerInterceptor {
        private int seen;

        @Override
        public void before(InterceptedMessage message, Outbox outbox) throws RejectedMessageException {
            if (++seen % 5 == 0) {
                throw new RejectedMessageException(ErrorCode.ACCESS_DENIED, "request " + seen + " is one too many");
            }
        }

        @Override
        public void after(HandledMessage outcome) {
            // it remembers the request
        }
    }

    private ReplayScenario scenario(boolean isWrong) {
        return new ReplayScenario()
                .converts("toy", toy, ToyDevice.settings("b", "c"))
                .handlesFromScratch("b", "once.window", () -> new Window(isWrong))
                .handlesFromScratch("b", "once.sums", () -> new Sums(isWrong))
                .handlesFromScratch("b", "once.ask", () -> (message, outbox) -> ask(message, outbox, isWrong))
                .handlesFromScratch(
                        "b",
                        "once.draw",
                        () -> (message, outbox) ->
                                outbox.response().int64("drawn", outbox.random().nextInt(isWrong ? 9 : 10)))
                .handlesFromScratch("b", "guarded.window", () -> new Window(isWrong))
                .interceptsHandlersFromScratch("b", "guarded.*", Guard::new)
                .handlesFromScratch("c", "once.window", () -> new Window(false));
    }

    private static void ask(Message message, Outbox outbox, boolean isWrong) throws RejectedMessageException {
        long n = message.int64("n");
        Request request = Request.operation("c", "once.window");
        request.body().int64("n", isWrong && n % 7 == 0 ? -1 : n);
        try (Response response = outbox.caller().call(request)) {
            outbox.response().int64("asked", response.int64("sum") + n);
        }
    }

    private void play(Worker caller, Random random) {
        List<String> operations = List.of("once.window", "once.sums", "once.ask", "once.draw", "guarded.window");
        for (int i = 0; i < CALLS; i++) {
            String operation = operations.get(random.nextInt(operations.size()));
            Request request = Request.operation("b", operation);
            request.body().int64("n", random.nextInt(100));
            Tensor tensor = toy.tensor((byte) random.nextInt(5), (byte) i, (byte) 1);
            if (operation.equals("once.sums")) {
                request.body().tensor("tensor", tensor);
            }
            try {
                caller.call(request).close();
            } catch (CallException e) {
                assertThat(e.code()).isEqualTo(ErrorCode.ACCESS_DENIED);
            } finally {
                tensor.storage().release();
            }
        }
    }

    /** What was found of each call, and what its response was. */
    private static Map<Long, String> found(Replay replay) throws IOException {
        Map<Long, String> found = new LinkedHashMap<>();
        replay.worker("b").run(call -> {
            ReplayedCall.Result result = call.results().get(0);
            String response = result.replayed()
                    .map(given -> Arrays.toString(given.payload()))
                    .orElse("none");
            found.put(call.call().id(), result.verdict() + ": " + result.reason() + "; " + response);
        });
        return found;
    }

    private static Map<String, Long> counts(Map<Long, String> found) {
        return found.values().stream()
                .collect(Collectors.groupingBy(text -> text.substring(0, text.indexOf(':')), Collectors.counting()));
    }

    @Test
    void givesWhatTheReportSaid() throws Exception {
        Random random = new Random(Seeds.fresh());
        Path home = scenario(false).record(directory, caller -> play(caller, random));
        assertThat(counts(found(scenario(false).replay(home)))).isEqualTo(Map.of(Verdict.SAME.name(), (long) CALLS));

        Map<Long, String> wrong = found(scenario(true).replay(home));
        System.out.println("verdicts of the wrong handlers: " + counts(wrong));
        assertThat(counts(wrong).keySet()).contains(Verdict.SAME.name(), Verdict.DIFFERENT.name());
        List<Long> ids = new ArrayList<>(wrong.keySet());
        for (long id : ids) {
            MessageFilter only = new MessageFilter.Builder().ids(id, id).build();
            assertThat(found(scenario(true).replay(home).select(only)))
                    .as("call %s, selected", MessageId.text(id))
                    .isEqualTo(Map.of(id, wrong.get(id)));
        }
        assertThat(toy.live.get()).as("storages on the device").isZero();
    }
}
