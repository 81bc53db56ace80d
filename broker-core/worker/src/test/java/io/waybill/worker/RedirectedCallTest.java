package io.waybill.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.Invocation;
import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.intercept.CallInterceptor;
import io.waybill.api.intercept.FailedAttempt;
import io.waybill.api.intercept.IncomingResponse;
import io.waybill.api.intercept.OutgoingCall;
import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.Provider;
import io.waybill.intercept.InterceptorSpec;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Calls that an interceptor sends to another worker than the program named. */
@Timeout(300)
class RedirectedCallTest {

    private static final String UNKNOWN = "shards";

    @TempDir
    private Path directory;

    private final ConcurrentLinkedQueue<String> seen = new ConcurrentLinkedQueue<>();
    private Workers workers;
    private Worker caller;

    @BeforeEach
    void join() throws IOException {
        workers = new Workers(directory);
        for (String name : List.of("a", "b")) {
            HandlerRegistry handlers = workers.registry();
            workers.join(name, handlers);
            workers.handle(
                    handlers,
                    "text.where",
                    (message, outbox) -> outbox.respond(Value.of(name + " " + message.text("text"))));
            workers.handle(handlers, "0x142", (message, outbox) -> {
                seen.add(name + " " + message.tensors().get(0).sizes()[0] + " elements");
                outbox.respond(ByteBuffer.allocate(0));
            });
        }
        caller = workers.join("caller");
    }

    @AfterEach
    void leave() throws IOException {
        workers.close();
    }

    private void add(String name, CallInterceptor interceptor) {
        caller.interceptors().calls().add(InterceptorSpec.ofAll(interceptor, new Provider(name, "1.0.0")));
    }

    /** Redirects every call. */
    private record To(String worker) implements CallInterceptor {
        @Override
        public void onRequest(OutgoingCall call) {
            call.redirect(worker);
        }
    }

    private static Request where(String to) {
        Request request = Request.operation(to, "text.where").timeout(Duration.ofSeconds(60));
        request.body().text("text", "it is");
        return request;
    }

    private String called(String to) {
        try (Response response = caller.call(where(to))) {
            return ((Value.Text) response.value()).value();
        }
    }

    @Test
    void goToTheWorkerThatWasNamedLast() {
        add("1.first", new To("a"));
        add("2.second", new To("b"));
        assertThat(called(UNKNOWN)).isEqualTo("b it is");
        assertThat(called("a")).isEqualTo("b it is");
    }

    @Test
    void failAsIfTheProgramHadNamedTheWorker() {
        add("1.first", new To("nowhere"));
        assertThatExceptionOfType(CallException.class)
                .isThrownBy(() -> called("a"))
                .satisfies(failure -> assertThat(failure.code()).isEqualTo(ErrorCode.UNKNOWN_WORKER))
                .withMessageContaining("nowhere");
        assertThat(caller.pendingCalls()).as("calls in flight").isZero();
    }

    @Test
    void areShownWithTheirReceiverToLaterInterceptorsAndAfterwards() {
        add("1.first", new To("a"));
        add("2.notes", new CallInterceptor() {
            @Override
            public void onRequest(OutgoingCall call) {
                seen.add("request to " + call.to());
                call.wrap(call.type(), call.payload());
            }

            @Override
            public void onResponse(IncomingResponse response) {
                seen.add("response of " + response.to());
            }
        });
        assertThat(called(UNKNOWN)).isEqualTo("a it is");
        assertThat(seen).containsExactly("request to a", "response of a");
    }

    @Test
    void areRepeatedWhereTheyWereSent() throws IOException {
        add("1.first", new To("late"));
        add("2.retries", new CallInterceptor() {
            @Override
            public void onRequest(OutgoingCall call) {
                call.keep();
            }

            @Override
            public void onAttemptFailed(FailedAttempt attempt) {
                seen.add(attempt.to());
                if (attempt.number() == 1) {
                    joinLate();
                }
                attempt.repeat(Duration.ofMillis(1));
            }
        });
        assertThat(called(UNKNOWN)).isEqualTo("late it is");
        assertThat(seen).contains("late").doesNotContain(UNKNOWN);
    }

    private void joinLate() {
        HandlerRegistry handlers = workers.registry();
        workers.handle(
                handlers, "text.where", (message, outbox) -> outbox.respond(Value.of("late " + message.text("text"))));
        try {
            workers.join("late", handlers);
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    void keepTheirTensors() {
        add("1.first", new To("b"));
        Storage storage = caller.buffers().allocate(300_000);
        Tensor tensor = Tensor.contiguous(DType.UINT8, new long[] {300_000}, storage);
        caller.call(Request.raw(UNKNOWN, MessageType.userRequest(0x42), ByteBuffer.allocate(1), List.of(tensor))
                        .timeout(Duration.ofSeconds(60)))
                .close();
        storage.release();
        assertThat(seen).containsExactly("b 300000 elements");
    }

    @Test
    void areNeverThoseThatNameAnOwner() {
        add("1.first", new To("b"));
        Invocation invocation = new Invocation("aten::neg", List.of(Value.of(1)), Map.of());
        assertThatExceptionOfType(CallException.class)
                .isThrownBy(() -> caller.rpc().remote("a", invocation))
                .withMessageContaining(
                        "a SCRIPT_REMOTE_CALL names the owner of a remote value, a, and can't be redirected to b");
    }

    @Test
    void failOnceWhenTheInterceptorNamesNoWorkerAtAll() {
        add("1.first", new To(null));
        assertThatExceptionOfType(CallException.class)
                .isThrownBy(() -> called("a"))
                .withMessageContaining("the interceptor of 1.first 1.0.0 failed in onRequest");
        assertThat(caller.pendingCalls()).as("calls in flight").isZero();
    }
}
