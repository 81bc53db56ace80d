package io.waybill.replay;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.Message;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.handler.Outbox;
import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import io.waybill.api.tensor.TensorBuffers;
import io.waybill.host.Host;
import io.waybill.replay.compare.ReplayedCall;
import io.waybill.replay.compare.Verdict;
import io.waybill.replay.recording.HomeRecording;
import io.waybill.worker.Worker;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Tensors in requests, in nested calls and in responses of a replay. */
@Timeout(120)
class ReplayedTensorsTest {

    private static final int ELEMENTS = 6;
    private static final int CALLS = 10;

    @TempDir
    private Path directory;

    /** What a handler of b changes of what it passes on, and of its response. */
    private record Change(float passed, float responded) {}

    private static Tensor tensor(TensorBuffers buffers) {
        Storage storage = buffers.allocate(4L * ELEMENTS);
        return Tensor.contiguous(DType.FLOAT32, new long[] {2, 3}, storage);
    }

    private static void fill(Tensor tensor, float first) {
        ByteBuffer bytes = tensor.storage().bytes(0, 4 * ELEMENTS);
        for (int i = 0; i < ELEMENTS; i++) {
            bytes.putFloat(4 * i, first + i);
        }
    }

    /** A copy with the last element changed by so much. */
    private static Tensor copy(Tensor from, float change, Outbox outbox) {
        Tensor copy = tensor(outbox.buffers());
        ByteBuffer bytes = copy.storage().bytes(0, 4 * ELEMENTS);
        bytes.put(0, from.storage().bytes(4 * from.storageOffset(), 4 * ELEMENTS), 0, 4 * ELEMENTS);
        int last = 4 * (ELEMENTS - 1);
        bytes.putFloat(last, bytes.getFloat(last) + change);
        return copy;
    }

    private static void ask(Message message, Outbox outbox, Change change) throws RejectedMessageException {
        Tensor passed = copy(message.tensor("tensor"), change.passed(), outbox);
        Request request = Request.operation("c", "tensor.same");
        request.body().tensor("tensor", passed);
        try (Response response = outbox.caller().call(request)) {
            outbox.response().tensor("tensor", copy(response.tensor("tensor"), change.responded(), outbox));
        } finally {
            passed.storage().release();
        }
    }

    private static ReplayScenario scenario(Change change) {
        return new ReplayScenario()
                .handles(
                        "c",
                        "tensor.same",
                        (message, outbox) ->
                                outbox.response().tensor("tensor", copy(message.tensor("tensor"), 0, outbox)))
                .handles("b", "tensor.ask", (message, outbox) -> ask(message, outbox, change));
    }

    private Path recorded() throws Exception {
        return scenario(new Change(0, 0)).record(directory, ReplayedTensorsTest::play);
    }

    private static void play(Worker caller) {
        for (int n = 0; n < CALLS; n++) {
            Tensor tensor = tensor(caller.buffers());
            fill(tensor, n);
            Request request = Request.operation("b", "tensor.ask");
            request.body().tensor("tensor", tensor);
            caller.call(request).close();
            tensor.storage().release();
        }
    }

    private static List<ReplayedCall.Result> results(Replay replay) throws IOException {
        List<ReplayedCall.Result> results = new ArrayList<>();
        replay.run(call -> results.addAll(call.results()));
        return results;
    }

    @Test
    void areTheSameAndAreGivenBack() throws Exception {
        Path home = recorded();
        HomeRecording recording = HomeRecording.open(home, Host.real());
        ReplayReport report =
                Replay.of(recording).with("same", scenario(new Change(0, 0))).run();
        assertThat(report.isAllSame()).as("%s", report).isTrue();
        assertThat(report.calls()).isEqualTo(2 * CALLS);
        assertThat(recording.liveTensorBytes()).isZero();
    }

    @Test
    void areShownWhereTheyDifferInAResponse() throws Exception {
        Replay replay = scenario(new Change(0, 0.5f)).replay(recorded()).worker("b");
        assertThat(results(replay)).hasSize(CALLS).allSatisfy(result -> {
            assertThat(result.verdict()).isEqualTo(Verdict.DIFFERENT);
            assertThat(result.reason()).contains("[1, 2]");
        });
    }

    @Test
    void mustBeThoseOnRecordInANestedCall() throws Exception {
        Replay replay = scenario(new Change(0.5f, -0.5f)).replay(recorded()).worker("b");
        assertThat(results(replay)).hasSize(CALLS).allSatisfy(result -> {
            assertThat(result.verdict()).isEqualTo(Verdict.FAILED);
            assertThat(result.reason()).contains("had other tensors").contains("[1, 2]");
        });
    }
}
