package io.waybill.replay;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.Invocation;
import io.waybill.api.MessageType;
import io.waybill.api.RRef;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Device;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import io.waybill.exchange.Wrapping;
import io.waybill.replay.compare.Verdict;
import io.waybill.testing.core.BufferStorage;
import io.waybill.worker.Worker;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Messages inside others, whose handlers run again in a replay of the outer one. */
@Timeout(120)
class DispatchedReplayTest {

    private static final int CALLS = 20;

    @TempDir
    private Path directory;

    /** The outer and the inner handler both read inputs that are on record, and the inner one calls another worker. */
    private static ReplayScenario scenario(MessageHandler envelope, String suffix) {
        return new ReplayScenario()
                .handles("a", "0x150", (message, outbox) -> {
                    outbox.clock().instant();
                    envelope.handle(message, outbox);
                })
                .handles("a", "text.inner", (message, outbox) -> {
                    long drawn = outbox.random().nextLong();
                    if (message.int64("n") == 7) {
                        throw new RejectedMessageException(ErrorCode.REFUSED, "no sevens, at " + drawn);
                    }
                    try (Response response = outbox.caller().call(Request.operation("b", "text.other"))) {
                        outbox.respond(Value.of(message.operation() + message.int64("n") + " " + message.caller() + " "
                                + outbox.clock().millis() + " " + drawn + " " + response.value() + suffix));
                    }
                })
                .handles("b", "text.other", (message, outbox) -> outbox.respond(Value.of("other")));
    }

    private static void call(Worker caller) {
        Wrapping.add(caller, "text.*", 0x50, 0);
        for (int i = 0; i < CALLS; i++) {
            Request request = Request.operation("a", "text.inner");
            request.body().int64("n", i);
            try {
                caller.call(request).close();
            } catch (CallException e) {
                assertThat(e.code()).isEqualTo(ErrorCode.REFUSED);
            }
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"blocking", "async"})
    void runsTheInnerHandlerAgain(String form) throws Exception {
        MessageHandler envelope = form.equals("async") ? Wrapping.ASYNC : Wrapping.BLOCKING;
        Path home = scenario(envelope, "").record(directory, DispatchedReplayTest::call);
        ReplayReport same = scenario(Wrapping.BLOCKING, "").replay(home).run();
        assertThat(same.calls()).isEqualTo(2 * CALLS - 1);
        assertThat(same.isAllSame())
                .as("whether the responses are the recorded ones, with the name of their caller")
                .isTrue();

        List<Verdict> verdicts = new ArrayList<>();
        scenario(Wrapping.BLOCKING, "!")
                .replay(home)
                .run(call -> call.results().stream()
                        .map(result -> result.verdict())
                        .filter(verdict -> verdict != Verdict.SAME)
                        .forEach(verdicts::add));
        assertThat(verdicts)
                .as("responses of a changed inner handler")
                .hasSize(CALLS - 1)
                .containsOnly(Verdict.DIFFERENT);
    }

    @Test
    void anInnerHandlerWaitsWhereTheOuterOneMustNot() throws Exception {
        ReplayScenario waiting = new ReplayScenario()
                .handlesOnPoller("a", "0x150", Wrapping.ASYNC)
                .handles("a", "text.inner", (message, outbox) -> {
                    try (Response response = outbox.caller().call(Request.operation("b", "text.other"))) {
                        outbox.respond(response.value());
                    }
                })
                .handles("b", "text.other", (message, outbox) -> outbox.respond(Value.of("other")));
        Path home = waiting.record(directory, DispatchedReplayTest::call);
        ReplayReport same = waiting.replay(home).run();
        assertThat(same.calls()).isEqualTo(2 * CALLS);
        assertThat(same.isAllSame()).isTrue();
    }

    @Test
    void namesTheInnerHandlerThatIsMissing() throws Exception {
        Path home = scenario(Wrapping.BLOCKING, "").record(directory, DispatchedReplayTest::call);
        List<String> reasons = new ArrayList<>();
        new ReplayScenario()
                .handles("a", "0x150", Wrapping.BLOCKING)
                .handles("b", "text.other", (message, outbox) -> outbox.respond(Value.of("other")))
                .replay(home)
                .run(call -> call.results().stream()
                        .filter(result -> result.verdict() != Verdict.SAME)
                        .forEach(result -> reasons.add(result.reason())));
        assertThat(reasons)
                .hasSize(CALLS)
                .allSatisfy(reason -> assertThat(reason).contains("there is no handler for text.inner"));
    }

    @Test
    void refusesTheSameDepth() throws Exception {
        ReplayScenario nested = new ReplayScenario().handles("a", "0x150", Wrapping.BLOCKING);
        Path home = nested.record(directory, caller -> {
            ByteBuffer payload = ByteBuffer.allocate(0);
            for (int i = 0; i < 9; i++) {
                payload = Wrapping.wrap(0x150, payload);
            }
            try {
                caller.call(Request.raw("a", MessageType.userRequest(0x50), payload, List.of()))
                        .close();
            } catch (CallException e) {
                assertThat(e.code()).isEqualTo(ErrorCode.REFUSED);
            }
        });
        assertThat(nested.replay(home).run().isAllSame()).isTrue();
    }

    /** A storage that counts. */
    private static final class Counted implements Storage {
        private final AtomicInteger counts = new AtomicInteger(1);
        private final AtomicInteger lowest = new AtomicInteger(1);
        private final Storage bytes = BufferStorage.counting(8);

        @Override
        public Device device() {
            return Device.CPU;
        }

        @Override
        public long sizeBytes() {
            return bytes.sizeBytes();
        }

        @Override
        public long address() {
            return bytes.address();
        }

        @Override
        public ByteBuffer bytes(long offset, int length) {
            return bytes.bytes(offset, length);
        }

        @Override
        public Storage retain() {
            counts.incrementAndGet();
            return this;
        }

        @Override
        public void release() {
            int left = counts.decrementAndGet();
            lowest.accumulateAndGet(left, Math::min);
        }
    }

    /** A value with a tensor is made, kept and fetched, each by a message inside another one: every count of the tensor is given once. */
    @Test
    void givesEachCountOfAFetchedTensorOnce() throws Exception {
        List<Counted> made = Collections.synchronizedList(new ArrayList<>());
        ReplayScenario fetching = new ReplayScenario()
                .handles("a", "0x150", Wrapping.BLOCKING)
                .handles("a", "SCRIPT_CALL", (message, outbox) -> {
                    Counted storage = new Counted();
                    made.add(storage);
                    outbox.respond(Value.of(Tensor.contiguous(DType.UINT8, new long[] {8}, storage)));
                });
        Path home = fetching.record(directory, caller -> {
            Wrapping.add(caller, "type:*", 0x50, 0);
            for (int i = 0; i < CALLS; i++) {
                try (RRef created = caller.rpc().remote("a", new Invocation("test::tensor", List.of(), Map.of()))) {
                    created.toHere().close();
                    created.toHere().close();
                }
            }
        });
        made.clear(); // what comes from here on is the replay's
        ReplayReport same = fetching.replay(home).run();
        assertThat(same.calls()).isEqualTo(3 * CALLS);
        assertThat(same.isAllSame()).isTrue();
        assertThat(made).hasSize(CALLS).allSatisfy(storage -> {
            assertThat(storage.lowest).as("the lowest count").hasValue(0);
            assertThat(storage.counts).as("counts that were not given back").hasValue(0);
        });
    }

    /** A run that was stopped makes no value: what it would be made of is not what is on record. */
    @Test
    void makesNoValueInARunThatWasStopped() throws Exception {
        ReplayScenario creating = creating("text.other", 7);
        Path home = creating.record(directory, caller -> {
            try (RRef created = caller.rpc().remote("a", new Invocation("test::made", List.of(), Map.of()));
                    Response value = created.toHere()) {
                assertThat(value.value()).isEqualTo(Value.of(7));
            }
        });
        assertThat(creating.replay(home).run().isAllSame()).isTrue();
        List<String> verdicts = new ArrayList<>();
        creating("text.unrecorded", 8)
                .replay(home)
                .run(call -> call.results().forEach(result -> verdicts.add(call.operation() + " " + result.verdict())));
        assertThat(verdicts)
                .as("a value of 8 is not made: what reads it is not compared with the one on record")
                .containsExactlyInAnyOrder(
                        "test::made FAILED", "SCRIPT_RREF_FETCH_CALL NOT_REPLAYABLE", "text.other SAME");
    }

    /** Makes a value with the help of another worker, and does without when there is none. */
    private static ReplayScenario creating(String operation, int value) {
        return new ReplayScenario()
                .handles("a", "SCRIPT_CALL", (message, outbox) -> {
                    try {
                        outbox.caller().call(Request.operation("b", operation)).close();
                    } catch (CallException e) {
                        assertThat(e.code()).isEqualTo(ErrorCode.UNKNOWN_CALL);
                    }
                    outbox.respond(Value.of(value));
                })
                .handles("b", "text.other", (message, outbox) -> outbox.respond(Value.of("other")));
    }

    @Test
    void createsValuesInsideEnvelopesAgain() throws Exception {
        ReplayScenario creating = new ReplayScenario()
                .handles("a", "0x150", Wrapping.BLOCKING)
                .handles("a", "SCRIPT_CALL", (message, outbox) -> outbox.respond(Value.of(7)));
        Path home = creating.record(directory, caller -> {
            Wrapping.add(caller, "type:*", 0x50, 0);
            for (int i = 0; i < CALLS; i++) {
                try (RRef created = caller.rpc().remote("a", new Invocation("test::seven", List.of(), Map.of()));
                        Response value = created.toHere()) {
                    assertThat(value.value()).isEqualTo(Value.of(7));
                }
            }
        });
        ReplayReport same = creating.replay(home).run();
        assertThat(same.calls()).isEqualTo(2 * CALLS);
        assertThat(same.isAllSame()).isTrue();
    }
}
