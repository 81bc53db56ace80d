package io.waybill.worker.call;

import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.api.Value;
import io.waybill.api.ValueEncoder;
import io.waybill.api.tensor.Tensor;
import io.waybill.home.note.NotedOutcomes;
import io.waybill.host.Host;
import io.waybill.host.ManualClock;
import io.waybill.host.Threads;
import io.waybill.host.failure.CloseSteps;
import io.waybill.injection.InjectionSettings;
import io.waybill.intercept.InterceptorRegistry;
import io.waybill.journal.JournalFullException;
import io.waybill.journal.JournalQueue;
import io.waybill.journal.read.JournalTail;
import io.waybill.journal.read.Poll;
import io.waybill.rref.RRefSettings;
import io.waybill.tensor.Plan;
import io.waybill.wire.MessageBuffer;
import io.waybill.wire.RecordView;
import io.waybill.worker.peer.FlowLimits;
import io.waybill.worker.peer.PeerLink;
import io.waybill.worker.peer.Quarantine;
import io.waybill.worker.peer.RecordReader;
import io.waybill.worker.poll.PollContext;
import io.waybill.worker.poll.PollPermit;
import io.waybill.worker.poll.PollTimes;
import io.waybill.worker.poll.Polled;
import io.waybill.worker.poll.Poller;
import io.waybill.worker.poll.Waiting;
import io.waybill.worker.poll.WaitingCallers;
import io.waybill.worker.publish.PublishingContext;
import io.waybill.worker.publish.PublishingRoom;
import io.waybill.worker.reference.WorkerReferences;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

/**
 * What makes the calls of a worker and completes them, without the worker: requests and responses are records of its own queues, and its link is to
 * itself. A test writes the responses, and polls, or starts the poller.
 */
public final class CallingRoom implements AutoCloseable {

    static final Duration TIMEOUT = Duration.ofSeconds(60);
    static final MessageType TYPE = MessageType.userRequest(0x42);

    /** The peer's part: responds to a request. */
    @FunctionalInterface
    interface Serving {
        void serve(RecordView request) throws JournalFullException;
    }

    public final PublishingRoom publishing;
    final PollContext polling;
    public final PollPermit permit;
    final Poller poller;
    public final WaitingCallers waiting;
    public final InterceptorRegistry interceptors;
    public final CallParts parts;
    public final Calls calls;
    public final WorkerReferences references;
    final ResponseReceiver receiver;
    final PeerLink link;
    final int id;
    private final Host host;
    private final MessageBuffer buffer = new MessageBuffer();

    public CallingRoom(Path path) throws Exception {
        this(path, null);
    }

    /** @param clock which the test moves; null for the host's */
    CallingRoom(Path path, ManualClock clock) throws Exception {
        this(path, clock, Host.real().threads(), InjectionSettings.NONE);
    }

    /** @param clock as above */
    CallingRoom(Path path, ManualClock clock, Threads threads, InjectionSettings injection) throws Exception {
        publishing = new PublishingRoom(path);
        id = publishing.directory.id();
        if (clock == null) {
            host = publishing.host.withThreads(threads);
        } else {
            clock.advance(
                    Duration.ofNanos(publishing.host.clock().wallNs())); // the queues have the time of their records
            host = publishing.host.withClock(clock).withThreads(threads);
        }
        PublishingContext writing = new PublishingContext(
                publishing.directory.info(),
                host.clock(),
                publishing.transit,
                PublishingRoom.JOURNAL.maxRecordBytes(),
                publishing.context.reports(),
                publishing.counters);
        polling = new PollContext(
                "a",
                PollTimes.of(Waiting.BALANCED),
                host,
                publishing.directory.cursors(),
                publishing.directory.doorbell());
        permit = polling.permit();
        poller = new Poller(polling);
        waiting = new WaitingCallers(polling, poller);
        interceptors = new InterceptorRegistry(host);
        parts = new CallParts(
                new CallParts.Context(host, writing, polling, poller, waiting, publishing.links, interceptors.calls()),
                new CallParts.Settings(
                        new CallSettings(
                                TIMEOUT, FlowLimits.defaults(), PublishingRoom.JOURNAL.maxRecordBytes(), false),
                        Duration.ZERO,
                        injection,
                        1),
                publishing.requests,
                new NotedOutcomes(publishing.directory.path(), host));
        calls = parts.calls;
        references = new WorkerReferences(publishing.directory, RRefSettings.DEFAULTS, calls, publishing.links);
        Quarantine quarantine = new Quarantine(publishing.links, host.clock(), polling.faults());
        receiver = parts.receiver(references, new RecordReader(id, quarantine, publishing.counters));
        link = publishing.link();
    }

    public static Request request() {
        return Request.raw("a", TYPE, ByteBuffer.allocate(8), List.of());
    }

    /** Begins a response of the worker itself; {@link #write} follows. */
    MessageBuffer begin(MessageType type, long id, int from, Value value) {
        byte[] payload = new ValueEncoder().value(value).toBytes();
        return buffer.begin(type, id, from, this.id, payload.length, 0)
                .sentNs(host.clock().wallNs())
                .payload(payload, 0, payload.length);
    }

    void write(MessageBuffer record) throws JournalFullException {
        publishing.responses.lock();
        try {
            publishing.responses.append(record, host.clock().wallNs());
        } finally {
            publishing.responses.unlock();
        }
    }

    /** Writes the response to a call. */
    public void respond(long id, Value value) throws JournalFullException {
        write(begin(MessageType.NAMED_RET, id, this.id, value));
    }

    /** Writes the response to a call, with a tensor that stays on its device. */
    void respond(long id, Tensor tensor) throws JournalFullException {
        Plan plan = publishing.transit.sender().plan(List.of(tensor), this.id, device -> device);
        buffer.begin(MessageType.NAMED_RET, id, this.id, this.id, 0, plan.sectionLength(0))
                .sentNs(host.clock().wallNs())
                .tensorCount(plan.tensorCount());
        plan.write(buffer, 0);
        write(buffer);
        plan.committed();
    }

    /** Completes the calls whose responses were written. Returns what the poll returned. */
    public int poll() {
        return receiver.poll(link);
    }

    /** Starts the poller, which also does the peer's part: each request is served once. */
    void start(Serving peer) {
        JournalTail tail =
                JournalTail.open(JournalQueue.REQUESTS.in(publishing.directory.path()), PublishingRoom.JOURNAL);
        MessageBuffer record = new MessageBuffer();
        RecordView request = new RecordView(record);
        poller.start(new Polled() {
            @Override
            public int poll() {
                int served = 0;
                try {
                    while (tail.poll(record, id) == Poll.RECORD) {
                        served++;
                        peer.serve(request);
                    }
                } catch (JournalFullException e) {
                    throw new IllegalStateException(e);
                }
                served += CallingRoom.this.poll();
                receiver.expire(host.clock().bootNs());
                return served;
            }

            @Override
            public int pollAll() {
                return poll();
            }

            @Override
            public boolean mayHaveWork() {
                return true;
            }

            @Override
            public void readClock() {}
        });
    }

    static String text(long id) {
        return MessageId.text(id);
    }

    @Override
    public void close() throws IOException {
        new CloseSteps()
                .attempt(poller::close)
                .attempt(parts.deviceResponses::close)
                .attempt(references::close)
                .attempt(publishing::close)
                .finish();
    }
}
