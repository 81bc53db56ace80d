package io.waybill.api;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.tensor.Tensor;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
class GatheredResponsesTest {

    private final CompletableFuture<Response> first = new CompletableFuture<>();
    private final CompletableFuture<Response> second = new CompletableFuture<>();
    private final CompletableFuture<List<Response>> all = Response.all(List.of(first, second));
    private final Recorded one = new Recorded();
    private final Recorded two = new Recorded();

    @Test
    void hasAllInTheOrderInWhichTheyWereAskedFor() {
        second.complete(two);
        assertThat(all).isNotDone();
        first.complete(one);

        assertThat(all).isCompletedWithValue(List.of(one, two));
        assertThat(one.closed + two.closed).isZero();
    }

    @Test
    void hasNoneOfNone() {
        assertThat(Response.all(List.of())).isCompletedWithValue(List.of());
    }

    @Test
    void failsWithTheFirstThatFailsAndClosesTheOthers() {
        first.complete(one);
        IllegalStateException why = new IllegalStateException("no");
        second.completeExceptionally(why);

        assertThatThrownBy(all::get).isInstanceOf(ExecutionException.class).hasCause(why);
        assertThat(one.closed).isEqualTo(1);
    }

    @Test
    void doesNotWaitForTheOthersWhenOneFails() {
        second.completeExceptionally(new IllegalStateException("no"));
        assertThat(all).isCompletedExceptionally();

        first.complete(one);
        assertThat(one.closed).isEqualTo(1);
    }

    @Test
    void reportsTheErrorOfAFutureThatFollowsAnother() {
        IllegalStateException why = new IllegalStateException("no");
        CompletableFuture<List<Response>> derived = Response.all(List.of(first.thenApply(response -> response)));
        first.completeExceptionally(new CompletionException(why));

        assertThatThrownBy(derived::get).hasCause(why);
    }

    @Test
    void closesWhatIsNotWantedAnyMore() {
        first.complete(one);
        all.cancel(false);
        assertThat(one.closed).isEqualTo(1);

        second.complete(two);
        assertThat(two.closed).isEqualTo(1);
    }

    /** Whether the list or the caller that gives up is faster, each response has one who closes it. */
    @Test
    void leavesEachResponseToOne() throws InterruptedException {
        for (int i = 0; i < 2_000; i++) {
            CompletableFuture<Response> source = new CompletableFuture<>();
            CompletableFuture<List<Response>> gathered = Response.all(List.of(source));
            Recorded response = new Recorded();
            Thread responding = new Thread(() -> source.complete(response));
            responding.start();
            boolean gaveUp = gathered.cancel(false);
            responding.join();
            assertThat(response.closed).as("run " + i).isEqualTo(gaveUp ? 1 : 0);
        }
    }

    /** Counts how often it was closed, and has nothing else. */
    private static final class Recorded implements Response {
        private volatile int closed;

        @Override
        public void close() {
            closed++;
        }

        @Override
        public MessageType type() {
            return MessageType.SCRIPT_RET;
        }

        @Override
        public long id() {
            return 0;
        }

        @Override
        public int from() {
            return 0;
        }

        @Override
        public ByteBuffer payload() {
            return ByteBuffer.allocate(0);
        }

        @Override
        public List<RRef> references() {
            return List.of();
        }

        @Override
        public List<Tensor> tensors() {
            return List.of();
        }

        @Override
        public Value value() {
            return Value.NONE;
        }

        @Override
        public Value value(String name) {
            return Value.NONE;
        }

        @Override
        public String text(String name) {
            return "";
        }

        @Override
        public long int64(String name) {
            return 0;
        }

        @Override
        public double float64(String name) {
            return 0;
        }

        @Override
        public boolean bool(String name) {
            return false;
        }

        @Override
        public byte[] bytes(String name) {
            return new byte[0];
        }

        @Override
        public Tensor tensor(String name) {
            throw new UnsupportedOperationException();
        }
    }
}
