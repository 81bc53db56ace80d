package io.waybill.handling;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.fail;

import com.sun.management.ThreadMXBean;
import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.ErrorKind;
import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Request;
import io.waybill.api.context.CallContext;
import io.waybill.api.intercept.CallInterceptor;
import io.waybill.api.intercept.IncomingResponse;
import io.waybill.api.intercept.InterceptedCall;
import io.waybill.api.intercept.OutgoingCall;
import io.waybill.dispatch.Provider;
import io.waybill.host.Host;
import io.waybill.intercept.InterceptorChain;
import io.waybill.intercept.InterceptorRegistry;
import io.waybill.intercept.InterceptorSpec;
import io.waybill.intercept.Interceptors;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class CallHooksTest {

    private final Interceptors<CallInterceptor> interceptors = new InterceptorRegistry(Host.real()).calls();
    private final CallHooks hooks = new CallHooks(new InterceptorDepth());
    private final List<String> seen = new ArrayList<>();
    private final Request request =
            Request.raw("b", MessageType.userRequest(0x42), ByteBuffer.wrap(new byte[] {1}), List.of());

    private static UnwrappedResponse response() {
        return new UnwrappedResponse(new HeldResponse(
                new HeldResponse.Header(MessageType.of(0x242), 5, 1), new byte[] {2}, List.of(), List.of()));
    }

    private Interceptors.Registration add(CallInterceptor interceptor) {
        return interceptors.add(InterceptorSpec.ofAll(interceptor, new Provider("test", "1.0.0")));
    }

    private InterceptorChain<CallInterceptor> chain() {
        return interceptors.table().find(request.type(), request.payloadArray(), request.payloadLength());
    }

    private CallException failureOfRequest() {
        try {
            hooks.request(false);
        } catch (CallException e) {
            return e;
        }
        return fail("the request was not refused");
    }

    /** Sees everything, and changes nothing. */
    private static final class Idle implements CallInterceptor {
        @Override
        public void onRequest(OutgoingCall call) {}
    }

    private final class Noting implements CallInterceptor {
        private final String name;

        Noting(String name) {
            this.name = name;
        }

        @Override
        public void onRequest(OutgoingCall call) {
            seen.add(name + " request");
        }

        @Override
        public void onResponse(IncomingResponse response) {
            seen.add(name + " response");
        }

        @Override
        public void onFailure(InterceptedCall call, CallException failure) {
            seen.add(name + " " + failure.code());
        }
    }

    @Test
    void allocatesNothingForInterceptorsThatChangeNothing() {
        add(new Idle());
        add(new Idle());
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        UnwrappedResponse response = response();
        int rounds = 20_000;
        long before = 0;
        for (int i = 0; i < 2 * rounds; i++) {
            if (i == rounds) {
                before = threads.getCurrentThreadAllocatedBytes();
            }
            InterceptorChain<CallInterceptor> chain = chain();
            chain.begin();
            hooks.open(chain, request, MessageId.NONE, CallContext.EMPTY);
            hooks.request(false);
            hooks.releaseRequest();
            hooks.respond(response);
            chain.end();
            hooks.clear();
        }
        long allocated = threads.getCurrentThreadAllocatedBytes() - before;
        assertThat(allocated / rounds).as("bytes per call").isZero();
    }

    @Test
    void notifiesThoseBehindAnInterceptorThatFailsTheResponse() {
        add(new Noting("inner"));
        add(new CallInterceptor() {
            @Override
            public void onRequest(OutgoingCall call) {}

            @Override
            public void onResponse(IncomingResponse response) throws RejectedMessageException {
                throw new RejectedMessageException(ErrorCode.REFUSED, "not this one");
            }
        });
        add(new Noting("outer"));
        hooks.open(chain(), request, MessageId.NONE, CallContext.EMPTY);
        hooks.request(false);
        CallException failure = hooks.respond(response());
        assertThat(failure.code()).isEqualTo(ErrorCode.REFUSED);
        assertThat(failure.messageId()).isEqualTo(5);
        hooks.failed(failure);
        assertThat(seen).containsExactly("inner request", "outer request", "outer response", "inner REFUSED");
    }

    @Test
    void notifiesThoseBeforeAnInterceptorThatFailsTheRequest() {
        add(new Noting("inner"));
        Interceptors.Registration bad = add(call -> {
            throw new StackOverflowError("planted");
        });
        add(new Noting("outer"));
        hooks.open(chain(), request, MessageId.NONE, CallContext.EMPTY);
        CallException failure = failureOfRequest();
        assertThat(failure.code()).isEqualTo(ErrorCode.HANDLER_FAILED);
        assertThat(failure).hasMessageContaining("test 1.0.0").hasMessageContaining("planted");
        assertThat(bad.status().failed()).isEqualTo(1);
        hooks.failed(failure);
        assertThat(seen).containsExactly("inner request", "inner HANDLER_FAILED");
    }

    @Test
    void passesAnInterceptorByThatLeftAndHadWrappedNothing() {
        Interceptors.Registration leaving = add(new Noting("left"));
        hooks.open(chain(), request, MessageId.NONE, CallContext.EMPTY);
        hooks.request(false);
        leaving.withdraw(Duration.ZERO);
        assertThat(hooks.respond(response())).isNull();
        assertThat(seen).containsExactly("left request");
    }

    @Test
    void givesNothingToOtherThreadsOrLater() {
        CompletableFuture<OutgoingCall> kept = new CompletableFuture<>();
        CompletableFuture<Throwable> elsewhere = new CompletableFuture<>();
        add(call -> {
            kept.complete(call);
            Thread other = new Thread(() -> {
                try {
                    call.payload();
                    elsewhere.complete(null);
                } catch (IllegalStateException e) {
                    elsewhere.complete(e);
                }
            });
            other.start();
            elsewhere.join();
        });
        hooks.open(chain(), request, MessageId.NONE, CallContext.EMPTY);
        hooks.request(false);
        assertThat(elsewhere.join()).isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(() -> kept.join().wrap(MessageType.userRequest(0x42), ByteBuffer.allocate(1)))
                .isInstanceOf(IllegalStateException.class);
    }

    @Test
    void refusesToWrapARequestInAResponseAndTheOtherWayRound() {
        add(new CallInterceptor() {
            @Override
            public void onRequest(OutgoingCall call) {
                assertThatThrownBy(() -> call.wrap(MessageType.of(0x242), ByteBuffer.allocate(1)))
                        .isInstanceOf(IllegalArgumentException.class);
            }

            @Override
            public void onResponse(IncomingResponse response) {
                assertThatThrownBy(() -> response.unwrap(MessageType.userRequest(0x42), ByteBuffer.allocate(1)))
                        .isInstanceOf(IllegalArgumentException.class);
            }
        });
        hooks.open(chain(), request, MessageId.NONE, CallContext.EMPTY);
        assertThat(hooks.request(false)).isSameAs(request);
        assertThat(hooks.respond(response())).isNull();
    }

    @Test
    void saysWhyARequestWasNotSent() {
        CallException known = new CallException(ErrorKind.UNKNOWN_ERROR, ErrorCode.CLOSED, MessageId.NONE, "closed");
        assertThat(CallHooks.notSent(known)).isSameAs(known);
        assertThat(CallHooks.notSent(new IllegalArgumentException("too many")).code())
                .isEqualTo(ErrorCode.UNKNOWN);
    }
}
