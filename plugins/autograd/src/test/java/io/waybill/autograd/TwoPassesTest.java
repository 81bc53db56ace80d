package io.waybill.autograd;

import static io.waybill.autograd.TestWorkers.elements;
import static io.waybill.autograd.TestWorkers.tensor;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.Message;
import io.waybill.api.MessageType;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.handler.HandlesMessage;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.handler.Outbox;
import io.waybill.autograd.message.BackwardMessage;
import io.waybill.testing.core.Waits;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Backward passes of one context that different workers begin. */
@Timeout(value = 4, unit = TimeUnit.MINUTES)
class TwoPassesTest {

    private static final String CONFLICT = "Cannot set GraphTask multiple times for the same autograd context";
    private static final int WORKERS = 4;
    private static final int ROUNDS = 40;

    @TempDir
    private Path directory;

    private final Autograd[] all = new Autograd[WORKERS];
    private final LastReceived last = new LastReceived();
    private TestWorkers workers;
    private Value leaf;

    /** Begins a pass of its own worker's, in the context of the call, through worker 3. Responds with how it ended. */
    @HandlesMessage("test.begin")
    private record Begin(TwoPassesTest test) implements MessageHandler {

        @Override
        public void handle(Message message, Outbox outbox) throws RejectedMessageException {
            int self = (int) message.int64("self");
            Value loss;
            try (Response response = outbox.caller().call(RelayHandler.request("worker3", message.value("tensor")))) {
                response.tensors().forEach(tensor -> tensor.storage().retain());
                synchronized (test.workers) {
                    loss = test.workers.local("aten::sum", test.workers.keep(response.value("tensor")));
                }
            }
            Autograd autograd = test.all[self];
            outbox.response().text("outcome", test.backward(autograd, autograd.currentContext(), loss));
        }
    }

    @BeforeEach
    void join() throws Exception {
        workers = TestWorkers.of(
                directory.resolve("home"),
                WORKERS,
                worker -> worker.with(last).with(new RelayHandler()).with(new Begin(this)));
        for (int i = 0; i < WORKERS; i++) {
            all[i] = workers.autograd(i);
        }
        leaf = workers.leaf(new long[] {2}, 1, 2);
    }

    @AfterEach
    void leavesNothing() throws Exception {
        for (Autograd each : all) {
            Waits.until("no context is left", () -> each.contexts().isEmpty() && each.passes() == 0);
        }
        workers.close();
        assertThat(TestWorkers.NATIVES.liveCount()).as("handles").isZero();
    }

    /** Returns "done", or why it failed. */
    private String backward(Autograd autograd, long context, Value loss) {
        try {
            autograd.backward(context, List.of(tensor(loss)), true);
            return "done";
        } catch (CallException e) {
            return e.getMessage();
        } catch (IllegalStateException e) {
            return e.getMessage();
        }
    }

    private Value relayed(String route) {
        try (Response response = workers.worker(0).call(RelayHandler.request(route, leaf))) {
            response.tensors().forEach(tensor -> tensor.storage().retain());
            synchronized (workers) {
                return workers.local("aten::sum", workers.keep(response.value("tensor")));
            }
        }
    }

    @Test
    void oneOfThemRemainsAndTheOtherSaysWhich() throws Exception {
        int conflicts = 0;
        for (int round = 0; round < ROUNDS; round++) {
            long context = all[0].open();
            Value loss = relayed("worker1 worker3");
            Request begin = Request.operation("worker1", "test.begin");
            begin.body().int64("self", 1).value("tensor", leaf);
            CompletableFuture<Response> other = workers.worker(0).callAsync(begin);
            LockSupport.parkNanos(round * 200_000L);
            String own = backward(all[0], context, loss);
            String theirs;
            try (Response response = other.get()) {
                theirs = response.text("outcome");
            }
            String both = "own: " + own + "\ntheirs: " + theirs;
            assertThat(own.equals("done") || theirs.equals("done")).as(both).isTrue();
            for (String outcome : List.of(own, theirs)) {
                if (!outcome.equals("done")) {
                    conflicts++;
                    assertThat(outcome).as(both).contains(CONFLICT, "began, runs in it");
                }
            }
            assertThat(backward(all[0], context, loss)).as("the next one").isEqualTo("done");
            all[0].release(context);
        }
        System.out.println(conflicts + " conflicts in " + ROUNDS + " rounds");
    }

    @Test
    void theDriversPassContinues() {
        all[0].context(context -> {
            Value loss = relayed("worker1");
            long sent = last.messageId();
            discover(2, context, sent); // worker 2 begins a pass, and never goes on
            Waits.until("its pass runs", () -> all[1].passes() == 1);
            assertThat(backward(all[0], context, loss)).isEqualTo("done");
            assertThat(all[1].passes()).isZero();
            try (ContextGradients gradients = all[0].gradients(context)) {
                assertThat(elements(gradients.of(tensor(leaf)).orElseThrow())).containsExactly(6, 6);
            }
        });
    }

    @Test
    void thatOfALowerIdIsNotEnded() {
        all[0].context(context -> {
            relayed("worker1");
            long sent = last.messageId();
            discover(2, context, sent);
            Waits.until("its pass runs", () -> all[1].passes() == 1);
            CallException refused = catchThrowableOfType(CallException.class, () -> discover(3, context, sent));
            assertThat(refused.code()).isEqualTo(ErrorCode.REFUSED);
            assertThat(refused).hasMessageContainingAll(CONFLICT, "which worker 2 began, runs in it");
            assertThat(all[1].passes()).isEqualTo(1);
            discover(2, context, sent); // a later one of the same worker
            assertThat(all[1].passes()).isEqualTo(1);
        });
    }

    private void discover(int from, long context, long messageId) {
        BackwardMessage message = new BackwardMessage(
                context,
                workers.worker(from).broker().nextId(),
                messageId,
                BackwardMessage.Kind.DISCOVER,
                true,
                false,
                Value.NONE);
        workers.worker(from)
                .call(Request.raw(
                        "worker1",
                        MessageType.BACKWARD_AUTOGRAD_REQ,
                        message.encode().payload(),
                        List.of()))
                .close();
    }
}
