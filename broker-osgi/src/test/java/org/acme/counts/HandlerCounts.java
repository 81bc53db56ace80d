package org.acme.counts;

import io.waybill.api.broker.Broker;
import io.waybill.api.broker.Counter;
import io.waybill.api.event.CallEvent;
import io.waybill.api.event.CallEvents;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Reference;

/** Counts requests that handlers begin, and errors that they give. */
@Component
public final class HandlerCounts implements CallEvents {

    private final Counter begun;
    private final Counter failed;

    @Activate
    public HandlerCounts(@Reference Broker broker) {
        begun = broker.counter("begun");
        failed = broker.counter("failed");
    }

    @Override
    public void onEvent(CallEvent event) {
        switch (event.kind()) {
            case BEGUN -> begun.increment();
            case RESPONDED -> {
                if (event.error() != null) {
                    failed.increment();
                }
            }
            default -> {
                // of no interest here
            }
        }
    }
}
