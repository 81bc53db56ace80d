package io.waybill.worker.call;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.ErrorKind;
import io.waybill.api.Invocation;
import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.api.RRef;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.exchange.CallOrigin;
import io.waybill.journal.JournalQueue;
import io.waybill.journal.read.QueueReader;
import io.waybill.rref.RRefSettings;
import io.waybill.testing.core.Waits;
import io.waybill.worker.peer.Links;
import io.waybill.worker.publish.PublishingRoom;
import io.waybill.worker.reference.WorkerReferences;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Calls of functions and the references that they create: on whose behalf they are, and what is left when one can't be sent. */
@Timeout(180)
class WorkerRpcTest {

    private static final Invocation CALL = new Invocation("math.scale", List.of(Value.of(2)), Map.of());

    @TempDir
    private Path directory;

    private CallingRoom room;
    private WorkerRpc rpc;

    @BeforeEach
    void open() throws Exception {
        room = new CallingRoom(directory);
        rpc = new WorkerRpc(room.calls, room.references, CallOrigin.PROGRAM);
    }

    @AfterEach
    void close() throws IOException {
        room.close();
    }

    /** A request as it is on record. */
    private record Sent(MessageType type, long parent, long deadlineNs) {}

    private List<Sent> sent() throws IOException {
        List<Sent> found = new ArrayList<>();
        Path queue = JournalQueue.REQUESTS.in(room.publishing.directory.path());
        try (QueueReader reader = QueueReader.open(queue, room.publishing.host.files(), PublishingRoom.JOURNAL)) {
            while (reader.next() == QueueReader.Step.RECORD) {
                found.add(new Sent(
                        reader.record().type(),
                        reader.record().parent(),
                        reader.record().deadlineNs()));
            }
        }
        return found;
    }

    private void assertNoReferences(String when) {
        assertThat(rpc.debugInfo())
                .as("counts of references %s", when)
                .allSatisfy((name, count) -> assertThat(count).as(name).isEqualTo("0"));
    }

    @Test
    void aCallIsOnBehalfOfItsOrigin() throws Exception {
        long parent = MessageId.of(room.id, 77);
        long deadlineNs = room.publishing.host.clock().bootNs() + CallingRoom.TIMEOUT.toNanos() / 2;
        WorkerRpc ofARequest = new WorkerRpc(room.calls, room.references, new CallOrigin() {
            @Override
            public long parent() {
                return parent;
            }

            @Override
            public long deadlineNs() {
                return deadlineNs;
            }
        });
        ofARequest.rpcAsync("a", CALL);
        ofARequest.remote("a", CALL).close();
        rpc.rpcAsync("a", CALL, Duration.ZERO);
        assertThat(sent())
                .as("requests on record")
                .containsExactly(
                        new Sent(MessageType.SCRIPT_CALL, parent, deadlineNs),
                        new Sent(MessageType.SCRIPT_REMOTE_CALL, parent, deadlineNs),
                        new Sent(MessageType.SCRIPT_CALL, MessageId.NONE, 0));
    }

    @Test
    void aCallThatWaitsReturnsTheResponse() {
        room.start(request -> room.respond(request.id(), Value.of("on")));
        try (Response response = rpc.rpcSync("a", CALL)) {
            assertThat(response.value()).isEqualTo(Value.of("on"));
        }
    }

    @Test
    void aCreationThatCanNotBeSentLeavesNoReference() throws Exception {
        assertThatThrownBy(() -> rpc.remote("missing", CALL), "the creation at an unknown worker")
                .isInstanceOf(CallException.class);
        assertNoReferences("after a worker that is not there");
        room.parts.writer.close();
        assertThatThrownBy(() -> rpc.remote("a", CALL), "the creation after the close")
                .isInstanceOfSatisfying(
                        CallException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.CLOSED));
        assertNoReferences("after the close");
        assertThat(sent()).as("requests on record").isEmpty();
    }

    @Test
    void aReferenceToAValueThatIsNotMadeFailsWithItsCall() throws Exception {
        assertThat(room.permit.tryAcquire()).isTrue();
        RRef made = rpc.remote("a", CALL);
        assertThat(made.isOwner()).as("this worker owns the value").isTrue();
        CompletableFuture<Response> value = made.toHereAsync(CallingRoom.TIMEOUT);
        assertThat(value).as("the value before the response").isNotDone();
        room.write(room.begin(MessageType.EXCEPTION, MessageId.of(room.id, 1), room.id, Value.of("no"))
                .error(ErrorKind.UNKNOWN_ERROR, ErrorCode.HANDLER_FAILED));
        room.poll();
        Waits.until("the value has failed with its call", value::isDone);
        assertThatThrownBy(value::join, "the value after the failure").hasCauseInstanceOf(CallException.class);
        made.close();
        assertNoReferences("after the last one is closed");
        room.permit.release();
    }

    @Test
    void aReferenceToAValueOfTheProgramHasItUntilItIsClosed() {
        RRef own = rpc.rref(Value.of("mine"), "Text");
        assertThat(own.isOwner()).as("this worker owns the value").isTrue();
        assertThat(own.type()).as("its type").isEqualTo("Text");
        try (Response value = own.localValue()) {
            assertThat(value.value()).as("the value").isEqualTo(Value.of("mine"));
        }
        own.close();
        assertThatThrownBy(own::localValue, "the value after the close").isInstanceOf(RuntimeException.class);
    }

    @Test
    void onlyAProgramThatMayWaitEndsTheReferences() {
        RRef own = rpc.rref(Value.of("mine"));
        WorkerRpc ofARequest = new WorkerRpc(room.calls, room.references, new CallOrigin() {
            @Override
            public long parent() {
                return MessageId.of(room.id, 77);
            }

            @Override
            public long deadlineNs() {
                return 0;
            }
        });
        assertThatThrownBy(() -> ofARequest.shutdown(Duration.ZERO), "an end by a handler")
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("its program does");
        assertThat(room.permit.tryAcquire()).isTrue();
        assertThatThrownBy(() -> rpc.shutdown(Duration.ZERO), "an end by a thread that polls")
                .isInstanceOf(IllegalStateException.class);
        room.permit.release();
        try (Response value = own.localValue()) {
            assertThat(value.value()).as("the value, which nothing has ended").isEqualTo(Value.of("mine"));
        }
        own.close();
        assertThat(rpc.shutdown(CallingRoom.TIMEOUT)).as("what is left").isEmpty();
    }

    @Test
    void aWorkerThatOnlyCallsHasNoReferences() throws Exception {
        rpc.requireServing();
        Links calling = new Links(
                room.publishing.directory, false, PublishingRoom.JOURNAL, room.permit, room.publishing.transit);
        WorkerReferences none =
                new WorkerReferences(room.publishing.directory, RRefSettings.DEFAULTS, room.calls, calling);
        WorkerRpc onlyCalls = new WorkerRpc(room.calls, none, CallOrigin.PROGRAM);
        assertThat(onlyCalls.serves()).as("it serves").isFalse();
        assertThatThrownBy(onlyCalls::requireServing, "a reference of it")
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("worker a only calls");
        none.close();
        calling.close();
    }
}
