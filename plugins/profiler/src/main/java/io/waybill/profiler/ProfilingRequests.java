package io.waybill.profiler;

import io.waybill.api.Message;
import io.waybill.api.handler.HandlesMessage;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.handler.NonBlocking;
import io.waybill.api.handler.Outbox;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Reference;

/** Handler of profiled calls of other workers. Never waits. Thread-safe. */
@Component
@HandlesMessage("RUN_WITH_PROFILING_REQ")
@NonBlocking
public final class ProfilingRequests implements MessageHandler {

    private final RemoteProfiler profiler;

    @Activate
    public ProfilingRequests(@Reference RemoteProfiler profiler) {
        this.profiler = profiler;
    }

    @Override
    public void handle(Message message, Outbox outbox) throws Exception {
        profiler.handler().handle(message, outbox);
    }
}
