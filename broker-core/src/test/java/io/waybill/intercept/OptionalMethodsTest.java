package io.waybill.intercept;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.CallException;
import io.waybill.api.intercept.CallInterceptor;
import io.waybill.api.intercept.HandledMessage;
import io.waybill.api.intercept.HandlerInterceptor;
import io.waybill.api.intercept.InterceptedCall;
import java.lang.reflect.Proxy;
import org.junit.jupiter.api.Test;

class OptionalMethodsTest {

    private static final OptionalMethods OF_CALLS = OptionalMethods.of(CallInterceptor.class);
    private static final OptionalMethods OF_HANDLERS = OptionalMethods.of(HandlerInterceptor.class);

    /** An interface with a default of its own. */
    private interface Noticing extends CallInterceptor {
        @Override
        default void onFailure(InterceptedCall call, CallException failure) {}
    }

    @Test
    void aLambdaHasNone() {
        CallInterceptor call = outgoing -> {};
        HandlerInterceptor handler = (message, outbox) -> {};
        assertThat(OF_CALLS.isAnyIn(call)).isFalse();
        assertThat(OF_HANDLERS.isAnyIn(handler)).isFalse();
    }

    @Test
    void aClassOrAnInterfaceBetweenMayHaveSome() {
        Noticing noticing = outgoing -> {};
        assertThat(OF_CALLS.isAnyIn(noticing)).isTrue();
        assertThat(OF_HANDLERS.isAnyIn(new HandlerInterceptor() {
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
        Object proxy = Proxy.newProxyInstance(
                getClass().getClassLoader(), new Class<?>[] {CallInterceptor.class}, (self, method, arguments) -> null);
        assertThat(OF_CALLS.isAnyIn(proxy)).isTrue();
    }
}
