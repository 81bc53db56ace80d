package org.acme.audit;

import io.waybill.api.broker.Broker;
import io.waybill.api.handler.Outbox;
import io.waybill.api.intercept.HandledMessage;
import io.waybill.api.intercept.HandlerInterceptor;
import io.waybill.api.intercept.InterceptedMessage;
import io.waybill.api.intercept.InterceptsMessage;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Reference;

/** Counts requests and errors of some operations. */
@Component
@InterceptsMessage("text.*")
public final class Audit implements HandlerInterceptor {

    private final Broker broker;

    @Activate
    public Audit(@Reference Broker broker) {
        this.broker = broker;
    }

    @Override
    public void before(InterceptedMessage message, Outbox outbox) {
        broker.counter("requests").increment();
    }

    @Override
    public void after(HandledMessage outcome) {
        if (outcome.error().isPresent()) {
            broker.counter("errors").increment();
        }
    }
}
