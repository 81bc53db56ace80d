package org.acme.tenant;

import io.waybill.api.ErrorCode;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.broker.Broker;
import io.waybill.api.context.CallContext;
import io.waybill.api.handler.Outbox;
import io.waybill.api.intercept.CallInterceptor;
import io.waybill.api.intercept.HandlerInterceptor;
import io.waybill.api.intercept.InterceptedMessage;
import io.waybill.api.intercept.InterceptsMessage;
import io.waybill.api.intercept.OutgoingCall;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Reference;

/** Counts the requests of each tenant, and lets no call leave without one. */
@Component
@InterceptsMessage("text.*")
public final class Tenants implements HandlerInterceptor, CallInterceptor {

    private static final String TENANT = "org.acme.tenant";

    private final Broker broker;

    @Activate
    public Tenants(@Reference Broker broker) {
        this.broker = broker;
    }

    @Override
    public void before(InterceptedMessage message, Outbox outbox) throws RejectedMessageException {
        String tenant = CallContext.current()
                .text(TENANT)
                .orElseThrow(() -> new RejectedMessageException(ErrorCode.REFUSED, "the call has no tenant"));
        broker.counter("requests-" + tenant).increment();
    }

    @Override
    public void onRequest(OutgoingCall call) {
        if (call.context().text(TENANT).isEmpty()) {
            call.context(call.context().with(TENANT, "shared"));
        }
    }
}
