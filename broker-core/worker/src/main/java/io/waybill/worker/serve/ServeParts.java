package io.waybill.worker.serve;

import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.StuckSettings;
import io.waybill.exchange.ExchangeContext;
import io.waybill.exchange.HandlerLookup;
import io.waybill.exchange.InnerRequests;
import io.waybill.home.WorkerDirectory;
import io.waybill.host.Host;
import io.waybill.intercept.InterceptorRegistry;
import io.waybill.journal.JournalSettings;
import io.waybill.journal.read.JournalTail;
import io.waybill.worker.call.Calls;
import io.waybill.worker.call.ResponseReceiver;
import io.waybill.worker.peer.Links;
import io.waybill.worker.peer.RecordReader;
import io.waybill.worker.peer.RereadTails;
import io.waybill.worker.poll.HandlerSlots;
import io.waybill.worker.poll.PollContext;
import io.waybill.worker.poll.Poller;
import io.waybill.worker.publish.PublishingContext;
import io.waybill.worker.publish.QueueAppender;
import io.waybill.worker.publish.SelfTails;
import io.waybill.worker.reference.WorkerReferences;

/**
 * The parts that serve the requests of one worker, each created before the parts that use it.
 *
 * <p><b>Threads.</b> Created by the thread that joins.
 */
public final class ServeParts {

    /** Parts that other packages have created. */
    public record Context(
            WorkerDirectory directory,
            HandlerRegistry registry,
            InterceptorRegistry interceptors,
            PollContext polling,
            Poller poller,
            PublishingContext publishing,
            Calls calls,
            WorkerReferences references) {}

    public final InnerRequests inner;
    public final ResponseWriter responses;
    public final HandlerSlots invocations;
    public final OpenRequests open = new OpenRequests();
    public final ParkedRequests parking = new ParkedRequests();
    public final PreviousIncarnation earlier;
    public final RereadTails reread;
    public final RequestDispatcher dispatcher;
    private final PollContext polling;
    private final RequestPool pool;

    /** @param appender of the responses */
    public ServeParts(Context context, QueueAppender appender, JournalSettings journal, StuckSettings stuck) {
        Host host = context.directory().home().host();
        int id = context.directory().id();
        long uid = host.files().owner();
        PublishingContext publishing = context.publishing();
        polling = context.polling();
        invocations = polling.invocations();
        ExchangeContext exchanges = new ExchangeContext(
                id,
                host.clock(),
                host.threads(),
                context.interceptors().handlers(),
                invocations::own,
                publishing.reports(),
                new HandlerErrorLog(context.registry().errors()));
        HandlerLookup lookup =
                HandlerLookup.of(context.registry(), context.references().handlers(), id);
        inner = new InnerRequests(exchanges, lookup, stuck, uid, false);
        responses = new ResponseWriter(publishing, appender, invocations);
        earlier = PreviousIncarnation.of(context.directory());
        reread = new RereadTails(id, link -> JournalTail.open(link.reader().requestsDirectory(), journal));
        ServingContext serving = new ServingContext(
                exchanges,
                lookup,
                inner,
                responses,
                context.calls(),
                publishing.transit(),
                invocations,
                context.references(),
                polling.faults(),
                publishing.counters());
        pool = new RequestPool(own -> new PeerRequest(serving, own), open);
        AccessGate gate = new AccessGate(context.registry().policies(), polling.permit(), uid);
        RequestDispatcher.Again again = new RequestDispatcher.Again(
                reread, earlier, new RepeatedRequests(context.directory(), journal, responses, context.poller()::wake));
        dispatcher = new RequestDispatcher(
                serving, context.poller().handlers(), pool, new ParkingLot(serving, gate, parking), again);
    }

    /** Returns the receiver that polls the peers. */
    public PeerReceiver receiver(Links links, ResponseReceiver ofCalls, RecordReader reader, SelfTails selfTails) {
        return new PeerReceiver(polling, links, ofCalls, new RequestReceiver(dispatcher, pool, reader), selfTails);
    }
}
