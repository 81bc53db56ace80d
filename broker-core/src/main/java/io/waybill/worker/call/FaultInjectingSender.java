package io.waybill.worker.call;

import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.host.Host;
import io.waybill.host.agent.AgentThread;
import io.waybill.host.agent.ParkingIdleStrategy;
import io.waybill.host.agent.WakeableIdleStrategy;
import io.waybill.injection.Fate;
import io.waybill.injection.InjectionSettings;
import io.waybill.injection.Injector;
import io.waybill.journal.JournalFailedException;
import io.waybill.journal.JournalFullException;
import io.waybill.wire.Envelope;
import io.waybill.wire.MessageBuffer;
import io.waybill.worker.peer.PeerLink;
import io.waybill.worker.peer.QueueAppender;
import io.waybill.worker.poll.FaultAlarm;
import io.waybill.worker.poll.Poller;
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
public final class FaultInjectingSender implements RequestSender, Agent {

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
    private final List<PeerLink> written = new ArrayList<>(); // owned by the agent's thread
    private AgentThread thread; // null until a request is delayed
    private boolean closed;

    public FaultInjectingSender(
            String workerName,
            InjectionSettings settings,
            Host host,
            QueueAppender appender,
            PendingCalls pending,
            Poller poller,
            FaultAlarm alarm) {
        this.workerName = workerName;
        this.host = host;
        this.idle = new ParkingIdleStrategy(host.clock(), host.threads());
        this.appender = appender;
        this.pending = pending;
        this.poller = poller;
        this.alarm = alarm;
        this.injector = new Injector(settings);
    }

    /** A delayed request. */
    private static final class Kept implements Comparable<Kept> {
        private final MessageBuffer request = new MessageBuffer();
        private final PeerLink link;
        private final int copies;
        private final long dueNs;

        Kept(MessageBuffer original, PeerLink link, int copies, long dueNs) {
            int length = original.length();
            request.reserve(length);
            request.memory().putBytes(0, original.memory(), 0, length);
            this.link = link;
            this.copies = copies;
            this.dueNs = dueNs;
        }

        @Override
        public int compareTo(Kept other) {
            return Long.signum(dueNs - other.dueNs);
        }
    }

    @Override
    public void put(MessageBuffer request, PeerLink link, long wallNs) throws JournalFullException {
        MessageType type = type(request);
        Fate fate = injector.next(type, link.id(), payload(request));
        switch (fate.way()) {
            case SENT:
                appender.journal().append(request, wallNs);
                repeat(request, link, fate.copies(), wallNs);
                return;
            case FAILED:
                throw new InjectedFailure(type, id(request), link);
            case LOST:
                request.id(pending.spareId()).deadlineNs(PASSED);
                appender.journal().append(request, wallNs);
                return;
            case LATE:
                keep(new Kept(request, link, fate.copies(), nowNs() + fate.delayNs()));
                return;
            case SWAPPED:
                swap(request, link, fate.copies(), wallNs);
        }
    }

    private void swap(MessageBuffer request, PeerLink link, int copies, long wallNs) throws JournalFullException {
        Kept first = swapped.get(link);
        if (first == null) {
            Kept next = new Kept(request, link, copies, nowNs() + SWAP_NS);
            keep(next);
            swapped.put(link, next);
            return;
        }
        appender.journal().append(request, wallNs);
        repeat(request, link, copies, wallNs);
        kept.remove(first);
        release(first);
    }

    /** Writes further copies of a request. No caller waits for their responses. */
    private void repeat(MessageBuffer request, PeerLink link, int copies, long wallNs) {
        try {
            for (int i = 1; i < copies; i++) {
                appender.journal().append(request.id(pending.spareId()), wallNs);
                link.flow().sent(request.length());
                link.flow().completed(request.length());
            }
        } catch (JournalFullException | JournalFailedException e) { // the call itself is in flight
            LOG.warn("A copy of a request to worker {} could not be written", link, e);
        }
    }

    /** Keeps a request, unless the thread that is to send it can't be started. */
    private void keep(Kept next) {
        if (thread == null) {
            AgentThread starting = new AgentThread(workerName + "-injector", this, idle, alarm::report);
            starting.startWhenPossible(host.threads());
            thread = starting;
        }
        kept.add(next);
        if (kept.peek() == next) {
            idle.wake();
        }
    }

    @Override
    public String roleName() {
        return "injector";
    }

    @Override
    public int doWork() {
        try {
            idle.rest(releaseDue());
            written.forEach(link -> appender.announce(link, MessageId.NONE));
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
                release(due);
                written.add(due.link);
            }
            return kept.isEmpty() ? Long.MAX_VALUE : kept.peek().dueNs - nowNs;
        } finally {
            appender.unlock();
        }
    }

    private void release(Kept due) {
        swapped.remove(due.link, due);
        if (due.link.condition() != PeerLink.Condition.OPEN) {
            return; // the caller is notified of it
        }
        MessageBuffer request = due.request;
        long id = pending.renew(id(request));
        long wallNs = host.clock().wallNs();
        try {
            appender.journal().append(request.id(id == MessageId.NONE ? pending.spareId() : id), wallNs);
        } catch (JournalFullException | JournalFailedException e) {
            LOG.warn("A request to worker {} that was kept back could not be written; it is lost", due.link, e);
            return;
        }
        repeat(request, due.link, due.copies, wallNs);
        poller.onDeadline(deadlineNs(request)); // a thread that checked deadlines in the meantime may have missed it
    }

    private static MessageType type(MessageBuffer request) {
        return MessageType.of(Short.toUnsignedInt(request.memory().getShort(Envelope.TYPE, ByteOrder.LITTLE_ENDIAN)));
    }

    private static long id(MessageBuffer request) {
        return request.memory().getLong(Envelope.ID, ByteOrder.LITTLE_ENDIAN);
    }

    private static long deadlineNs(MessageBuffer request) {
        return request.memory().getLong(Envelope.DEADLINE, ByteOrder.LITTLE_ENDIAN);
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
