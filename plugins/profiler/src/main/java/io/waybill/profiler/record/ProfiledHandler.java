package io.waybill.profiler.record;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.Message;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Response;
import io.waybill.api.context.ContextScope;
import io.waybill.api.handler.LateResponse;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.handler.Outbox;
import io.waybill.profiler.message.ProfilingId;
import io.waybill.profiler.message.ProfilingRequest;
import io.waybill.profiler.message.ProfilingResponse;
import io.waybill.profiler.profile.ProfileEvent;
import io.waybill.profiler.profile.ProfilerConfig;
import io.waybill.profiler.profile.ProfilerState;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.InstantSource;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;

/**
 * Handler of {@code RUN_WITH_PROFILING_REQ}: passes the inner message to its handler while recording, and responds with
 * the outcome and the events. An error is inside the response, together with events, and fails the call at its caller.
 *
 * <p><b>Threads.</b> Any; never waits.
 */
public final class ProfiledHandler implements MessageHandler {

    private static final Logger LOG = System.getLogger(ProfiledHandler.class.getName());

    private final Recordings recordings;
    private final ServerRanges ranges;
    private final int worker;
    private final InstantSource clock;
    private final boolean hasCuda;

    /** @param worker id of this one */
    public ProfiledHandler(
            Recordings recordings, ServerRanges ranges, int worker, InstantSource clock, boolean hasCuda) {
        this.recordings = recordings;
        this.ranges = ranges;
        this.worker = worker;
        this.clock = clock;
        this.hasCuda = hasCuda;
    }

    /** Returns the part of a configuration that this worker supports. */
    public ProfilerConfig possible(ProfilerConfig config) {
        switch (config.state()) {
            case CPU:
                return config;
            case CUDA:
                if (hasCuda) {
                    return config;
                }
                LOG.log(
                        Level.WARNING,
                        "Profiler was requested to be enabled with CUDA on this node, but CUDA is not available."
                                + " Falling back to CPU profiling only.");
                return config.withState(ProfilerState.CPU);
            default: // like PyTorch, without a warning
                return config.withState(ProfilerState.CPU);
        }
    }

    @Override
    public void handle(Message message, Outbox outbox) throws RejectedMessageException {
        ProfilingRequest request = ProfilingRequest.decode(message.payload());
        Recording recording = new Recording(
                request.id(),
                ProfilingId.baseOf(message.id()),
                possible(request.config()),
                worker,
                outbox.clock(),
                clock);
        ServerRange[] open = ranges.open();
        LateResponse later = outbox.later();
        recording.arrived(outbox.arrival());
        recording.dispatched();
        recordings.add(recording);
        CompletableFuture<Response> inner = null;
        ContextScope scope = new CurrentEvent(request.id(), ProfileEvent.NO_PARENT).enter();
        try {
            inner = outbox.dispatchAsync(request.type(), request.payload(), message.tensors(), message.references());
        } finally {
            CurrentEvent.leave(scope);
            if (inner == null) {
                recordings.remove(recording);
            }
        }
        inner.whenComplete((response, failure) -> {
            List<ProfileEvent> events = recorded(recording, open);
            completed(recording, events, later, response, failure);
        });
    }

    private List<ProfileEvent> recorded(Recording recording, ServerRange[] open) {
        recordings.remove(recording);
        List<ProfileEvent> events = recording.close();
        ServerRanges.add(open, events, recording.dropped());
        return events;
    }

    private static void completed(
            Recording recording, List<ProfileEvent> events, LateResponse later, Response response, Throwable failure) {
        try {
            if (failure != null) {
                later.send(failed(recording, events, failure).encode(), List.of(), List.of());
            } else {
                respond(recording, events, response, later);
            }
        } catch (RuntimeException e) { // the caller must not wait for its deadline
            later.fail(ErrorCode.HANDLER_FAILED, e.toString(), e);
        }
    }

    private static ProfilingResponse failed(Recording recording, List<ProfileEvent> events, Throwable failure) {
        Throwable cause = failure instanceof CompletionException ? failure.getCause() : failure;
        ErrorCode code = cause instanceof CallException known ? known.code() : ErrorCode.HANDLER_FAILED;
        String text = cause instanceof CallException ? cause.getMessage() : cause.toString();
        return ProfilingResponse.failed(recording.id(), code, String.valueOf(text), recording.dropped(), events);
    }

    private static void respond(Recording recording, List<ProfileEvent> events, Response response, LateResponse later) {
        try (response) {
            ProfilingResponse profiled = new ProfilingResponse(
                    recording.id(), response.type(), response.payload(), recording.dropped(), events);
            response.tensors().forEach(tensor -> tensor.storage().retain());
            later.send(profiled.encode(), response.tensors(), response.references());
        }
    }
}
