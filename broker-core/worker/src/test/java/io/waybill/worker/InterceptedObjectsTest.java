package io.waybill.worker;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.Invocation;
import io.waybill.api.MessageType;
import io.waybill.api.RRef;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.intercept.CallInterceptor;
import io.waybill.api.intercept.IncomingResponse;
import io.waybill.api.intercept.OutgoingCall;
import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import io.waybill.dispatch.HandlerKey;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.Provider;
import io.waybill.intercept.InterceptorSpec;
import io.waybill.tensor.segment.TensorConfig;
import io.waybill.testing.core.Waits;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Tensors and references of calls that interceptors wrap and unwrap. */
@Timeout(300)
class InterceptedObjectsTest {

    private static final WorkerSettings SETTINGS = Workers.SETTINGS.toBuilder()
            .tensors(new TensorConfig(8 << 20, 64 << 20, 4096, 64 << 10))
            .build();
    private static final int BYTES = 100_000; // travels through a segment, so that its lease has to come back
    private static final int CALLS = 300; // more than there are leases
    private static final MessageType PLAIN_RESPONSE = MessageType.of(0x243);

    @TempDir
    private Path directory;

    private final ConcurrentLinkedQueue<String> seen = new ConcurrentLinkedQueue<>();
    private Workers workers;
    private Worker server;
    private Worker caller;

    @BeforeEach
    void joinTwo() throws IOException {
        workers = new Workers(directory);
        HandlerRegistry handlers = workers.registry();
        server = workers.join("server", handlers, SETTINGS);
        caller = workers.join("caller", workers.registry(), SETTINGS);
        workers.handle(handlers, "0x142", (message, outbox) -> {
            List<Tensor> tensors = message.tensors();
            tensors.forEach(tensor -> tensor.storage().retain());
            outbox.respond(message.payload(), tensors);
        });
        workers.handle(handlers, "SCRIPT_CALL", (message, outbox) -> outbox.respond(Value.of(7)));
    }

    @AfterEach
    void leave() throws IOException {
        workers.close();
    }

    private void intercept(String key, CallInterceptor interceptor) {
        caller.interceptors()
                .calls()
                .add(new InterceptorSpec<>(
                        List.of(HandlerKey.parse(key)), interceptor, new Provider("test", "1.0.0"), 0));
    }

    private Tensor tensor(int last) {
        Storage storage = caller.buffers().allocate(BYTES);
        storage.bytes(BYTES - 1, 1).put((byte) last);
        return Tensor.contiguous(DType.UINT8, new long[] {BYTES}, storage);
    }

    private static int last(Tensor tensor) {
        return tensor.storage().bytes(BYTES - 1, 1).get();
    }

    /** Adds a tensor to the request, and takes the first one out of the response. */
    private final class Adding implements CallInterceptor {
        @Override
        public void onRequest(OutgoingCall call) {
            List<Tensor> tensors = new ArrayList<>(call.tensors());
            tensors.forEach(each -> each.storage().retain());
            tensors.add(0, tensor(9));
            call.wrap(MessageType.userRequest(0x42), call.payload(), tensors, call.references());
        }

        @Override
        public void onResponse(IncomingResponse response) {
            List<Tensor> tensors = new ArrayList<>(response.response().tensors());
            assertThat(last(tensors.remove(0))).isEqualTo(9);
            tensors.forEach(each -> each.storage().retain());
            response.unwrap(PLAIN_RESPONSE, response.response().payload(), tensors, response.references());
        }
    }

    @Test
    void countsTheTensorsThatAnInterceptorAddsAndRemoves() throws Exception {
        intercept("0x143", new Adding());
        for (int i = 0; i < CALLS; i++) {
            Tensor sent = tensor(7);
            Request request = Request.raw(
                    "server", MessageType.userRequest(0x43), ByteBuffer.wrap(new byte[] {1}), List.of(sent));
            try (Response response = i % 2 == 0
                    ? caller.call(request)
                    : caller.callAsync(request).get(20, TimeUnit.SECONDS)) {
                assertThat(response.type()).isEqualTo(PLAIN_RESPONSE);
                assertThat(response.tensors()).hasSize(1);
                assertThat(last(response.tensors().get(0))).isEqualTo(7);
            }
            sent.storage().release();
        }
        everythingIsBack();
    }

    @Test
    void keepsTheTensorsOfARequestWhosePayloadAloneIsWrapped() {
        intercept("0x143", call -> call.wrap(MessageType.userRequest(0x42), call.payload()));
        for (int i = 0; i < CALLS; i++) {
            Tensor sent = tensor(5);
            Request request = Request.raw(
                    "server", MessageType.userRequest(0x43), ByteBuffer.wrap(new byte[] {1}), List.of(sent));
            try (Response response = caller.call(request)) {
                assertThat(last(response.tensors().get(0))).isEqualTo(5);
            }
            sent.storage().release();
        }
        everythingIsBack();
    }

    @Test
    void interceptsCreationsAndFetchesOfReferencedValues() {
        CallInterceptor noting = new CallInterceptor() {
            @Override
            public void onRequest(OutgoingCall call) {
                seen.add(call.type() + " of " + call.operation());
            }

            @Override
            public void onResponse(IncomingResponse response) {
                seen.add(response.response().type().name());
            }
        };
        intercept("type:*", noting);
        try (RRef reference = caller.rpc().remote("server", new Invocation("test::seven", List.of(), Map.of()));
                Response response = reference.toHere()) {
            assertThat(response.value()).isEqualTo(Value.of(7));
        }
        Waits.until(
                () -> "the response to the creation, which may come after the value; seen: " + seen,
                () -> seen.size() >= 4);
        assertThat(seen)
                .containsExactlyInAnyOrder(
                        "SCRIPT_REMOTE_CALL of test::seven",
                        "REMOTE_RET",
                        "SCRIPT_RREF_FETCH_CALL of SCRIPT_RREF_FETCH_CALL",
                        "SCRIPT_RREF_FETCH_RET");
    }

    @Test
    void forksTheReferencesOfAWrappedRequest() {
        intercept(
                "SCRIPT_CALL",
                call -> call.wrap(MessageType.userRequest(0x42), call.payload(), List.of(), call.references()));
        try (RRef own = caller.rpc().rref(Value.of(3))) {
            for (int i = 0; i < CALLS; i++) {
                Invocation call = new Invocation("test::any", List.of(new Value.OfRRef(own)), Map.of());
                caller.rpc().rpcSync("server", call).close();
            }
        }
        Waits.until(
                "no fork is left",
                () -> caller.rpc().debugInfo().get("num_forks").equals("0"));
        Waits.until(
                "no value is left",
                () -> caller.rpc().debugInfo().get("num_owner_rrefs").equals("0"));
    }

    private void everythingIsBack() {
        Waits.until("no call is pending", () -> caller.pendingCalls() == 0);
        for (Worker worker : List.of(server, caller)) {
            Waits.until("worker " + worker.info() + " holds no lease", () -> worker.leasesHeld() == 0);
            Waits.until("worker " + worker.info() + " has nothing leased", () -> worker.leased() == 0);
        }
    }
}
