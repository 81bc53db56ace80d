package io.waybill.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

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
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.exchange.Wrapping;
import io.waybill.tensor.segment.TensorConfig;
import io.waybill.testing.core.Waits;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tensors and references of messages inside others, and values that these create. */
@Timeout(300)
class DispatchedObjectsTest {

    private static final WorkerSettings SETTINGS = Workers.SETTINGS.toBuilder()
            .tensors(new TensorConfig(8 << 20, 64 << 20, 4096, 64 << 10))
            .build();
    private static final int BYTES = 100_000; // travels through a segment, so that its lease has to come back
    private static final int CALLS = 300; // more than there are leases
    private static final int KIND = 0x50;

    @TempDir
    private Path directory;

    private Workers workers;
    private HandlerRegistry handlers;
    private Worker server;
    private Worker caller;

    @BeforeEach
    void joinTwo() throws IOException {
        workers = new Workers(directory);
        handlers = workers.registry();
        server = workers.join("server", handlers, SETTINGS);
        caller = workers.join("caller", workers.registry(), SETTINGS);
        workers.handle(handlers, "0x142", (message, outbox) -> {
            List<Tensor> tensors = message.tensors();
            tensors.forEach(tensor -> tensor.storage().retain());
            outbox.respond(message.payload(), tensors, message.references());
        });
        workers.handle(handlers, "SCRIPT_CALL", (message, outbox) -> {
            if (message.invocation().name().equals("test::bad")) {
                throw new RejectedMessageException(ErrorCode.REFUSED, "planted");
            }
            outbox.respond(Value.of(7));
        });
    }

    @AfterEach
    void leave() throws IOException {
        workers.close();
    }

    private static MessageHandler form(String name) {
        return name.equals("async") ? Wrapping.ASYNC : Wrapping.BLOCKING;
    }

    @ParameterizedTest
    @ValueSource(strings = {"blocking", "async"})
    void givesBackTheTensorsOfBothMessages(String form) {
        workers.handle(handlers, "0x150", form(form));
        Wrapping.add(caller, "0x142", KIND, 0);
        for (int i = 0; i < CALLS; i++) {
            Storage storage = caller.buffers().allocate(BYTES);
            storage.bytes(BYTES - 1, 1).put((byte) i);
            Tensor sent = Tensor.contiguous(DType.UINT8, new long[] {BYTES}, storage);
            Request request = Request.raw(
                    "server", MessageType.userRequest(0x42), ByteBuffer.wrap(new byte[] {1, 2}), List.of(sent));
            try (Response response = caller.call(request)) {
                assertThat(response.payload().remaining()).isEqualTo(2);
                assertThat(response.tensors()
                                .get(0)
                                .storage()
                                .bytes(BYTES - 1, 1)
                                .get())
                        .isEqualTo((byte) i);
            }
            storage.release();
        }
        for (Worker worker : List.of(server, caller)) {
            Waits.until("worker " + worker.info() + " holds no lease", () -> worker.leasesHeld() == 0);
            Waits.until("worker " + worker.info() + " has nothing leased", () -> worker.leased() == 0);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"blocking", "async"})
    void carriesReferencesOfRawMessagesInBothDirections(String form) {
        workers.handle(handlers, "0x150", form(form));
        Wrapping.add(caller, "0x142", KIND, 0);
        try (RRef own = caller.rpc().rref(Value.of(3))) {
            Request request = Request.raw(
                    "server", MessageType.userRequest(0x42), ByteBuffer.wrap(new byte[] {1}), List.of(), List.of(own));
            for (int i = 0; i < 50; i++) {
                try (Response response = caller.call(request)) {
                    assertThat(response.references()).hasSize(1);
                    assertThat(response.references().get(0).isOwner()).isTrue();
                    try (Response value = response.references().get(0).localValue()) {
                        assertThat(value.value()).isEqualTo(Value.of(3));
                    }
                }
            }
        }
        noReferenceIsLeft(caller);
        noReferenceIsLeft(server);
    }

    private static void noReferenceIsLeft(Worker worker) {
        for (String count : List.of("num_forks", "num_owner_rrefs", "num_pending_users")) {
            Waits.until(
                    () -> count + " of " + worker.info() + " is 0: "
                            + worker.rpc().debugInfo(),
                    () -> worker.rpc().debugInfo().get(count).equals("0"));
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"blocking", "async"})
    void createsAndFetchesValuesInsideEnvelopes(String form) {
        workers.handle(handlers, "0x150", form(form));
        Wrapping.add(caller, "type:*", KIND, 0);
        for (int i = 0; i < 20; i++) {
            try (RRef created = caller.rpc().remote("server", call("test::seven"));
                    Response value = created.toHere()) {
                assertThat(value.value()).isEqualTo(Value.of(7));
            }
        }
        noReferenceIsLeft(caller);
        noReferenceIsLeft(server);
    }

    private static Invocation call(String name) {
        return new Invocation(name, List.of(), Map.of());
    }

    @Test
    void createsAValueInsideTwoEnvelopes() {
        workers.handle(handlers, "0x150", Wrapping.BLOCKING);
        workers.handle(handlers, "0x151", Wrapping.BLOCKING);
        Wrapping.add(caller, "SCRIPT_REMOTE_CALL", 0x50, 1);
        Wrapping.add(caller, "SCRIPT_REMOTE_CALL", 0x51, 0);
        try (RRef created = caller.rpc().remote("server", call("test::seven"));
                Response value = created.toHere()) {
            assertThat(value.value()).isEqualTo(Value.of(7));
        }
        noReferenceIsLeft(server);
    }

    @ParameterizedTest
    @ValueSource(strings = {"inner fails", "outer fails", "outer forgets"})
    void failsTheReferenceOfACreationThatFailed(String how) {
        workers.handle(handlers, "0x150", (message, outbox) -> {
            if (how.equals("inner fails")) {
                Wrapping.BLOCKING.handle(message, outbox);
            } else if (how.equals("outer fails")) {
                throw new RejectedMessageException(ErrorCode.REFUSED, "planted in the envelope");
            } else {
                outbox.respond(ByteBuffer.allocate(2).putShort(0, (short) 0x0602));
            }
        });
        Wrapping.add(caller, "SCRIPT_REMOTE_CALL", KIND, 0);
        try (RRef created = caller.rpc().remote("server", call("test::bad"))) {
            assertThatThrownBy(() -> created.toHere(Duration.ofSeconds(100)).close())
                    .isInstanceOfSatisfying(
                            CallException.class, e -> assertThat(e.code()).isNotEqualTo(ErrorCode.TIMED_OUT));
        }
        noReferenceIsLeft(caller);
        noReferenceIsLeft(server);
    }

    @Test
    void refusesACreationThatHasNoReference() {
        workers.handle(handlers, "0x150", Wrapping.BLOCKING);
        ByteBuffer inner = Wrapping.wrap(MessageType.SCRIPT_REMOTE_CALL.code(), ByteBuffer.allocate(10));
        Request request = Request.raw("server", MessageType.userRequest(KIND), inner, List.of());
        assertThatThrownBy(() -> caller.call(request)).hasMessageContaining("has no reference to the value");
    }
}
