package io.waybill.worker.call;

import io.waybill.api.intercept.CallInterceptor;
import io.waybill.home.note.NotedOutcomes;
import io.waybill.host.Host;
import io.waybill.injection.InjectionSettings;
import io.waybill.intercept.Interceptors;
import io.waybill.worker.peer.LinkLookup;
import io.waybill.worker.peer.Links;
import io.waybill.worker.peer.RecordReader;
import io.waybill.worker.poll.PollContext;
import io.waybill.worker.poll.Poller;
import io.waybill.worker.poll.WaitingCallers;
import io.waybill.worker.publish.PublishingContext;
import io.waybill.worker.publish.QueueAppender;
import io.waybill.worker.publish.RecordSender;
import io.waybill.worker.reference.WorkerReferences;
import java.time.Duration;

/**
 * The parts that make the calls of one worker and complete them, each created before the parts that use it.
 *
 * <p><b>Threads.</b> Created by the thread that joins.
 */
public final class CallParts {

    /** Parts that other packages have created. */
    public record Context(
            Host host,
            PublishingContext publishing,
            PollContext polling,
            Poller poller,
            WaitingCallers waiting,
            Links links,
            Interceptors<CallInterceptor> interceptors) {}

    /**
     * Settings of calls.
     *
     * @param returnLimit max time that calls wait for the next incarnation of a peer that has ended
     * @param firstCounter counter of the first call's id
     */
    public record Settings(CallSettings calls, Duration returnLimit, InjectionSettings injection, long firstCounter) {}

    public final PendingCalls pending;
    public final RequestWriter writer;
    public final RepeatedCalls repeated;
    public final Calls calls;
    public final DeviceResponses deviceResponses;
    private final CallingContext calling;

    /** @param appender of the requests */
    public CallParts(Context context, Settings settings, QueueAppender appender, NotedOutcomes noted) {
        Host host = context.host();
        PublishingContext publishing = context.publishing();
        PollContext polling = context.polling();
        pending = new PendingCalls(
                publishing.worker().id(), settings.calls().limits().calls(), settings.firstCounter());
        calling = new CallingContext(
                publishing,
                settings.calls(),
                pending,
                context.poller(),
                context.waiting(),
                polling.deadlines(),
                new AwaitedReturns(context.links(), settings.returnLimit()),
                new OutcomeDelivery(polling.permit(), publishing.reports(), publishing.counters(), noted));
        RecordSender injection = settings.injection().isNone()
                ? null
                : new FaultInjectingSender(calling, settings.injection(), host, appender, polling.faults());
        writer = new RequestWriter(
                calling, appender, injection, new LinkLookup(context.links(), host, context.waiting()::mayBlock));
        InterceptingWriter intercepting = new InterceptingWriter(calling, writer, context.interceptors());
        repeated = intercepting.repeated();
        calls = new Calls(calling, intercepting);
        deviceResponses = new DeviceResponses(calling, host);
    }

    /** Returns the receiver of responses. */
    public ResponseReceiver receiver(WorkerReferences references, RecordReader reader) {
        return new ResponseReceiver(calling, references, reader, deviceResponses, repeated);
    }
}
