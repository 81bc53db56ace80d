package io.waybill.worker.serve;

import io.waybill.api.ErrorCode;
import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.api.Value;
import io.waybill.api.handler.MessageHandler;
import io.waybill.dispatch.DeliveryPolicy;
import io.waybill.dispatch.ExecutorSettings;
import io.waybill.dispatch.HandlerExecutor;
import io.waybill.dispatch.HandlerKey;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.HandlerSpec;
import io.waybill.dispatch.ParkingSettings;
import io.waybill.dispatch.Provider;
import io.waybill.dispatch.StuckSettings;
import io.waybill.exchange.ExchangeContext;
import io.waybill.exchange.HandlerLookup;
import io.waybill.exchange.InnerRequests;
import io.waybill.handling.Delivered;
import io.waybill.home.note.NotedOutcomes;
import io.waybill.host.Host;
import io.waybill.host.ManualClock;
import io.waybill.host.failure.CloseSteps;
import io.waybill.injection.InjectionSettings;
import io.waybill.intercept.InterceptorRegistry;
import io.waybill.journal.JournalQueue;
import io.waybill.journal.read.JournalTail;
import io.waybill.journal.read.QueueReader;
import io.waybill.rref.RRefSettings;
import io.waybill.wire.MessageBuffer;
import io.waybill.wire.RecordView;
import io.waybill.worker.call.CallParts;
import io.waybill.worker.call.CallSettings;
import io.waybill.worker.peer.FlowLimits;
import io.waybill.worker.peer.PeerLink;
import io.waybill.worker.peer.RereadTails;
import io.waybill.worker.poll.PollContext;
import io.waybill.worker.poll.PollPermit;
import io.waybill.worker.poll.PollTimes;
import io.waybill.worker.poll.Poller;
import io.waybill.worker.poll.Waiting;
import io.waybill.worker.poll.WaitingCallers;
import io.waybill.worker.publish.PublishingContext;
import io.waybill.worker.publish.PublishingRoom;
import io.waybill.worker.reference.WorkerReferences;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * What serves the requests of a worker, without the worker: the requests are written to its own queue, and read over
 * the link to itself. The thread that opens it has the poll permit, and a test moves the clock.
 */
final class ServingRoom implements AutoCloseable {

    static final Provider ACME = new Provider("acme", "1.0.0");
    static final MessageType TYPE = MessageType.userRequest(0x42);
    static final HandlerKey KEY = new HandlerKey.OfType(TYPE);
    static final ParkingSettings PARKING = new ParkingSettings(3, TimeUnit.SECONDS.toNanos(60));

    final PublishingRoom publishing;
    final ManualClock clock = new ManualClock();
    final HandlerRegistry registry = new HandlerRegistry(PARKING, Host.real().threads(), clock);
    final OpenRequests open = new OpenRequests();
    final ParkedRequests parked = new ParkedRequests();
    final PollContext polling;
    final PollPermit permit;
    final ServingContext context;
    final ResponseWriter responses;
    final RequestPool pool;
    final AccessGate gate;
    final ParkingLot parking;
    final RepeatedRequests repeats;
    final RequestDispatcher dispatcher;
    final CallParts calling;
    final WorkerReferences references;
    final PeerLink link;
    final long uid;
    private final HandlerExecutor executor = registry.newExecutor(ACME, ExecutorSettings.forProcessors(1));
    private final RereadTails reread;
    private final MessageBuffer buffer = new MessageBuffer();
    private int requests;

    ServingRoom(Path path) throws Exception {
        publishing = new PublishingRoom(path);
        clock.advance(Duration.ofNanos(publishing.host.clock().wallNs())); // the queues have the time of their records
        Host host = publishing.host.withClock(clock);
        PublishingContext writing = new PublishingContext(
                publishing.directory.info(),
                clock,
                publishing.transit,
                PublishingRoom.JOURNAL.maxRecordBytes(),
                publishing.context.reports(),
                publishing.counters);
        link = publishing.link();
        int id = publishing.directory.id();
        uid = publishing.host.files().owner();
        polling = new PollContext(
                "a",
                PollTimes.of(Waiting.BALANCED),
                host,
                publishing.directory.cursors(),
                publishing.directory.doorbell());
        permit = polling.permit();
        Poller poller = new Poller(polling);
        InterceptorRegistry interceptors = new InterceptorRegistry(host);
        calling = new CallParts(
                new CallParts.Context(
                        host,
                        writing,
                        polling,
                        poller,
                        new WaitingCallers(polling, poller),
                        publishing.links,
                        interceptors.calls()),
                new CallParts.Settings(
                        new CallSettings(
                                Duration.ofSeconds(30),
                                FlowLimits.defaults(),
                                PublishingRoom.JOURNAL.maxRecordBytes(),
                                false),
                        Duration.ZERO,
                        InjectionSettings.NONE,
                        0),
                publishing.requests,
                new NotedOutcomes(publishing.directory.path(), host));
        references = new WorkerReferences(publishing.directory, RRefSettings.DEFAULTS, calling.calls, publishing.links);
        ExchangeContext exchanges = new ExchangeContext(
                id,
                clock,
                host.threads(),
                interceptors.handlers(),
                polling.invocations()::own,
                writing.reports(),
                new HandlerErrorLog(registry.errors()));
        HandlerLookup lookup = HandlerLookup.of(registry, references.handlers(), id);
        responses = new ResponseWriter(writing, publishing.responses, polling.invocations());
        context = new ServingContext(
                exchanges,
                lookup,
                new InnerRequests(exchanges, lookup, StuckSettings.DEFAULT, uid, false),
                responses,
                calling.calls,
                publishing.transit,
                polling.invocations(),
                references,
                polling.faults(),
                publishing.counters);
        pool = new RequestPool(own -> new PeerRequest(context, own), open);
        gate = new AccessGate(registry.policies(), permit, uid);
        parking = new ParkingLot(context, gate, parked);
        reread = new RereadTails(
                id, peer -> JournalTail.open(peer.reader().requestsDirectory(), PublishingRoom.JOURNAL));
        repeats = new RepeatedRequests(publishing.directory, PublishingRoom.JOURNAL, responses, () -> {});
        dispatcher = new RequestDispatcher(
                context,
                poller.handlers(),
                pool,
                parking,
                new RequestDispatcher.Again(reread, PreviousIncarnation.of(publishing.directory), repeats));
        permit.tryAcquire();
    }

    /** Publishes a handler that runs on the thread that polls. */
    HandlerRegistry.Registration handle(MessageHandler handler) {
        return handle(DeliveryPolicy.AT_MOST_ONCE, handler);
    }

    HandlerRegistry.Registration handle(DeliveryPolicy delivery, MessageHandler handler) {
        HandlerSpec spec =
                new HandlerSpec(List.of(KEY), handler, true, ACME, 0, getClass().getClassLoader(), executor);
        return registry.add(spec.withDelivery(delivery));
    }

    /** Publishes a handler that notes the requests that it runs. */
    HandlerRegistry.Registration handleInto(List<String> begun) {
        return handleInto(begun, DeliveryPolicy.AT_MOST_ONCE);
    }

    HandlerRegistry.Registration handleInto(List<String> begun, DeliveryPolicy delivery) {
        return handle(delivery, (message, outbox) -> {
            begun.add(MessageId.text(message.id()));
            outbox.respond(Value.NONE);
        });
    }

    /** Begins the record of the next request of the worker to itself. */
    MessageBuffer begin(MessageType type) {
        int id = publishing.directory.id();
        return begin(type, id, id);
    }

    /** Begins the next record, with the workers that it names. */
    MessageBuffer begin(MessageType type, int from, int to) {
        return buffer.begin(type, MessageId.of(publishing.directory.id(), ++requests), from, to, 0, 0)
                .flags(0)
                .epoch(publishing.directory.epoch())
                .sentNs(clock.wallNs());
    }

    /** Returns the id of the record that was begun last. */
    String lastId() {
        return MessageId.text(MessageId.of(publishing.directory.id(), requests));
    }

    /** Writes the record that was begun. Returns its position. */
    long write() throws Exception {
        publishing.requests.lock();
        try {
            publishing.requests.append(buffer, clock.wallNs());
            return publishing.requests.journal().lastIndex();
        } finally {
            publishing.requests.unlock();
        }
    }

    /** Writes a request. Returns its position. */
    long write(MessageType type) throws Exception {
        begin(type);
        return write();
    }

    /** Writes a request, and reads it. */
    PeerRequest read(MessageType type) throws Exception {
        return dispatcher.readAgain(link, write(type), Delivered.FIRST);
    }

    PeerRequest read() throws Exception {
        return read(TYPE);
    }

    static String id(PeerRequest request) {
        return MessageId.text(request.view().id());
    }

    /** Returns the responses on record: the ids, and the code of an error. */
    List<String> responded() throws IOException {
        return publishing.onRecord(JournalQueue.RESPONSES);
    }

    /** Returns the texts of the errors on record. */
    List<String> errors() throws IOException {
        List<String> texts = new ArrayList<>();
        try (QueueReader reader = QueueReader.open(
                JournalQueue.RESPONSES.in(publishing.directory.path()),
                publishing.host.files(),
                PublishingRoom.JOURNAL)) {
            while (reader.next() == QueueReader.Step.RECORD) {
                RecordView record = reader.record();
                if (record.errorCode() != ErrorCode.UNKNOWN) {
                    texts.add(new String(record.copyPayload(), StandardCharsets.UTF_8));
                }
            }
        }
        return texts;
    }

    @Override
    public void close() throws IOException {
        new CloseSteps()
                .attempt(reread::closeAll)
                .attempt(references::close)
                .attempt(() -> executor.close(Duration.ZERO))
                .attempt(publishing::close)
                .finish();
    }
}
