package io.waybill.worker.call;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.ErrorKind;
import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.host.Host;
import io.waybill.host.agent.AgentThread;
import io.waybill.host.agent.ParkingIdleStrategy;
import io.waybill.host.agent.WakeableIdleStrategy;
import io.waybill.injection.Fate;
import io.waybill.injection.InjectionSettings;
import io.waybill.injection.Injector;
import io.waybill.journal.JournalFullException;
import io.waybill.wire.Envelope;
import io.waybill.wire.MessageBuffer;
import io.waybill.worker.peer.PeerLink;
import io.waybill.worker.poll.FaultAlarm;
import io.waybill.worker.poll.Poller;
import io.waybill.worker.publish.Publication;
import io.waybill.worker.publish.QueueAppender;
import io.waybill.worker.publish.RecordSender;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import org.agrona.concurrent.Agent;
import org.agrona.concurrent.AgentTerminationException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Fault-injecting sender: drops, delays, duplicates or reorders requests before they are appended. A delayed request is
 * complete and is written later under the next id, so ids still ascend in the journal. A dropped request is written
 * under an id that no call waits for, with a deadline that has passed: its receiver only releases the tensors and
 * references that came with it.
 *
 * <p><b>Threads.</b> All methods under the lock of the requests' appender; one thread of its own, started with the
 * first delayed request.
 */
public final class FaultInjectingSender implements RecordSender, Agent {

    private static final Logger LOG = LoggerFactory.getLogger(FaultInjectingSender.class);
    /** Max time that a request waits for another one to swap with. */
    private static final long SWAP_NS = 100_000_000;

    private static final long PASSED = 1;

    private final String workerName;
    private final Host host;
    private final QueueAppender appender;
    private final PendingCalls pending;
    private final Poller poller;
    private final FaultAlarm alarm;
    private final Injector injector;
    private final PriorityQueue<Kept> kept = new PriorityQueue<>();
    private final Map<PeerLink, Kept> swapped = new HashMap<>();
    private final WakeableIdleStrategy idle;
    private final List<Kept> written = new ArrayList<>(); // owned by the agent's thread
    private AgentThread thread; // null until a request is delayed
    // State of the request that was put last:
    private int copies = 1;
    private Kept swappedBehind; // null for none
    private boolean closed;

    /** @param alarm reports the faults of mapped files that surface in its thread */
    public FaultInjectingSender(
            CallingContext context, InjectionSettings settings, Host host, QueueAppender appender, FaultAlarm alarm) {
        this.workerName = context.publishing().worker().name();
        this.host = host;
        this.idle = new ParkingIdleStrategy(host.clock(), host.threads());
        this.appender = appender;
        this.pending = context.pending();
        this.poller = context.poller();
        this.alarm = alarm;
        this.injector = new Injector(settings);
    }

    /** Injected failure of a request: undoes the steps of sending it, and fails its call. */
    static final class InjectedFailure extends RuntimeException {

        private static final long serialVersionUID = 1L;

        private final CallException outcome;

        InjectedFailure(MessageType type, long id, PeerLink link) {
            super(null, null, false, false);
            String text = "Send attempt failed intentionally for " + type + " to worker " + link;
            outcome = new CallException(
                            ErrorKind.INTENTIONAL_FAILURE,
                            ErrorCode.INTENTIONAL_FAILURE,
                            id,
                            ErrorKind.INTENTIONAL_FAILURE.encode(text))
                    .begun(CallException.Begun.NO);
        }

        /** Returns the outcome for the listener. */
        CallException outcome() {
            return outcome;
        }
    }

    /** A delayed request. */
    private final class Kept implements Publication, Comparable<Kept> {
        private final MessageBuffer request = new MessageBuffer();
        private final PeerLink link;
        private final int copies;
        private final long dueNs;

        Kept(MessageBuffer original, PeerLink link, int copies, long dueNs) {
            copy(original, request);
            this.link = link;
            this.copies = copies;
            this.dueNs = dueNs;
        }

        @Override
        public int compareTo(Kept other) {
            return Long.signum(dueNs - other.dueNs);
        }

        @Override
        public long id() {
            return FaultInjectingSender.id(request);
        }

        @Override
        public PeerLink to() {
            return link;
        }

        @Override
        public void compose(MessageBuffer record) {
            long id = pending.renew(id());
            request.id(id == MessageId.NONE ? pending.spareId() : id);
            copy(request, record);
        }

        /** Registers the deadline again: a thread that checked deadlines in the meantime may have missed it. */
        @Override
        public void expectOutcome() {
            poller.onDeadline(request.memory().getLong(Envelope.DEADLINE, ByteOrder.LITTLE_ENDIAN));
        }
    }

    private static void copy(MessageBuffer from, MessageBuffer to) {
        int length = from.length();
        to.reserve(length);
        to.memory().putBytes(0, from.memory(), 0, length);
    }

    /** @throws InjectedFailure when a failure of this request is injected */
    @Override
    public long put(MessageBuffer request, PeerLink link, long wallNs) throws JournalFullException {
        MessageType type = type(request);
        Fate fate = injector.next(type, link.id(), payload(request));
        copies = 1;
        swappedBehind = null;
        return switch (fate.way()) {
            case SENT -> send(request, fate.copies(), wallNs);
            case FAILED -> throw new InjectedFailure(type, id(request), link);
            case LOST -> appender.append(request.id(pending.spareId()).deadlineNs(PASSED), wallNs);
            case LATE -> keep(new Kept(request, link, fate.copies(), nowNs() + fate.delayNs()));
            case SWAPPED -> swap(request, link, fate.copies(), wallNs);
        };
    }

    private long send(MessageBuffer request, int times, long wallNs) throws JournalFullException {
        long sequence = appender.append(request, wallNs);
        copies = times;
        return sequence;
    }

    private long swap(MessageBuffer request, PeerLink link, int times, long wallNs) throws JournalFullException {
        Kept first = swapped.get(link);
        if (first == null) {
            Kept next = new Kept(request, link, times, nowNs() + SWAP_NS);
            swapped.put(link, next);
            try {
                return keep(next);
            } catch (RuntimeException | Error e) {
                swapped.remove(link, next);
                throw e;
            }
        }
        long sequence = send(request, times, wallNs);
        swappedBehind = first;
        return sequence;
    }

    /**
     * Writes further copies of a request, for whose responses no caller waits, and the request that it has swapped
     * places with.
     */
    @Override
    public void follow(MessageBuffer request, PeerLink link, long wallNs) throws JournalFullException {
        try {
            repeat(request, link, copies, wallNs);
        } finally {
            if (swappedBehind != null) {
                kept.remove(swappedBehind);
                if (release(swappedBehind)) {
                    swappedBehind.expectOutcome(); // its receiver is woken for the request before it
                }
            }
        }
    }

    private void repeat(MessageBuffer request, PeerLink link, int times, long wallNs) throws JournalFullException {
        for (int i = 1; i < times; i++) {
            appender.append(request.id(pending.spareId()), wallNs);
            link.flow().sent(request.length());
            link.flow().completed(request.length());
        }
    }

    /** Keeps a request, unless the thread that is to send it can't be started. */
    private long keep(Kept next) {
        if (thread == null) {
            AgentThread starting = new AgentThread(workerName + "-injector", this, idle, alarm::report);
            starting.startWhenPossible(host.threads());
            thread = starting;
        }
        kept.add(next);
        if (kept.peek() == next) {
            try {
                idle.wake();
            } catch (RuntimeException | Error e) { // it is kept: nothing is thrown
                alarm.report(e);
            }
        }
        return KEPT;
    }

    @Override
    public String roleName() {
        return "injector";
    }

    @Override
    public int doWork() {
        try {
            idle.rest(releaseDue());
            written.forEach(appender::follow);
        } finally {
            written.clear();
        }
        return 0;
    }

    /** Sends the requests that are due, and returns the time until the next one is. */
    private long releaseDue() {
        appender.lock();
        try {
            if (closed) {
                throw new AgentTerminationException(true);
            }
            long nowNs = nowNs();
            while (!kept.isEmpty() && kept.peek().dueNs - nowNs <= 0) {
                Kept due = kept.poll();
                if (release(due)) {
                    written.add(due);
                }
            }
            return kept.isEmpty() ? Long.MAX_VALUE : kept.peek().dueNs - nowNs;
        } finally {
            appender.unlock();
        }
    }

    /**
     * Publishes a request that was kept. Returns whether it is published; its call then waits for the response, and
     * otherwise for its deadline.
     */
    private boolean release(Kept due) {
        swapped.remove(due.link, due);
        if (due.link.condition() != PeerLink.Condition.OPEN) {
            return false; // the caller is notified of it
        }
        long wallNs = host.clock().wallNs();
        try {
            appender.append(due, null, wallNs);
        } catch (JournalFullException | RuntimeException | Error e) {
            LOG.warn("A request to worker {} that was kept back could not be written; it is lost", due.link, e);
            return false;
        }
        try {
            repeat(due.request, due.link, due.copies, wallNs);
        } catch (JournalFullException | RuntimeException | Error e) {
            LOG.warn("A copy of a request to worker {} could not be written", due.link, e);
        }
        return true;
    }

    private static MessageType type(MessageBuffer request) {
        return MessageType.of(Short.toUnsignedInt(request.memory().getShort(Envelope.TYPE, ByteOrder.LITTLE_ENDIAN)));
    }

    private static long id(MessageBuffer request) {
        return request.memory().getLong(Envelope.ID, ByteOrder.LITTLE_ENDIAN);
    }

    private static byte[] payload(MessageBuffer request) {
        byte[] payload = new byte[request.memory().getInt(Envelope.PAYLOAD_LENGTH, ByteOrder.LITTLE_ENDIAN)];
        request.memory().getBytes(Envelope.HEADER_LENGTH, payload);
        return payload;
    }

    private long nowNs() {
        return host.clock().monotonicNs();
    }

    @Override
    public void close() {
        appender.lock();
        try {
            closed = true;
            kept.clear();
            swapped.clear();
            idle.wake();
        } finally {
            appender.unlock();
        }
    }
}
