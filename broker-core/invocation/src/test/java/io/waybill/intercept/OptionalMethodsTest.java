package io.waybill.intercept;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.CallException;
import io.waybill.api.intercept.CallInterceptor;
import io.waybill.api.intercept.HandledMessage;
import io.waybill.api.intercept.HandlerInterceptor;
import io.waybill.api.intercept.InterceptedCall;
import io.waybill.api.intercept.OutgoingCall;
import java.lang.reflect.Proxy;
import org.junit.jupiter.api.Test;

class OptionalMethodsTest {

    private static final OptionalMethods<CallInterceptor> OF_CALLS =
            OptionalMethods.of(CallInterceptor.class, CallInterceptor::isInterceptingCalls);
    private static final OptionalMethods<HandlerInterceptor> OF_HANDLERS =
            OptionalMethods.of(HandlerInterceptor.class, HandlerInterceptor::isInterceptingHandlers);

    /** An interface with a default of its own. */
    private interface Noticing extends CallInterceptor {
        @Override
        default void onFailure(InterceptedCall call, CallException failure) {}
    }

    @Test
    void aLambdaHasNone() {
        CallInterceptor call = outgoing -> {};
        HandlerInterceptor handler = (message, outbox) -> {};
        assertThat(OF_CALLS.seesOutcomes(call)).isFalse();
        assertThat(OF_HANDLERS.seesOutcomes(handler)).isFalse();
    }

    @Test
    void aClassOrAnInterfaceBetweenMayHaveSome() {
        Noticing noticing = outgoing -> {};
        assertThat(OF_CALLS.seesOutcomes(noticing)).isTrue();
        assertThat(OF_HANDLERS.seesOutcomes(new HandlerInterceptor() {
                    @Override
                    public void before(
                            io.waybill.api.intercept.InterceptedMessage message,
                            io.waybill.api.handler.Outbox outbox) {}

                    @Override
                    public void after(HandledMessage outcome) {}
                }))
                .isTrue();
    }

    @Test
    void aProxyHasAll() {
        CallInterceptor proxy = (CallInterceptor) Proxy.newProxyInstance(
                getClass().getClassLoader(), new Class<?>[] {CallInterceptor.class}, (self, method, arguments) -> null);
        assertThat(OF_CALLS.seesOutcomes(proxy)).isTrue();
        assertThat(OF_CALLS.isAlwaysIntercepting(proxy)).isFalse();
    }

    @Test
    void oneThatDoesNotSayWhetherItTakesPartIsNotAsked() {
        CallInterceptor silent = outgoing -> {};
        CallInterceptor saying = new CallInterceptor() {
            @Override
            public void onRequest(OutgoingCall call) {}

            @Override
            public boolean isInterceptingCalls() {
                return false;
            }
        };
        assertThat(OF_CALLS.isAlwaysIntercepting(silent)).isTrue();
        assertThat(OF_CALLS.isAlwaysIntercepting(saying)).isFalse();
        assertThat(OF_CALLS.seesOutcomes(saying)).isFalse();
    }
}
