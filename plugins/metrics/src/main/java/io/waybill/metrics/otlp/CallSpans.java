package io.waybill.metrics.otlp;

import io.waybill.api.ErrorCode;
import io.waybill.api.event.CallEvent;
import io.waybill.api.event.CallEvents;
import java.util.Collection;
import java.util.EnumSet;
import java.util.Iterator;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * Collector of the spans of calls in a sampled trace. A span without room is dropped and counted, so that a call never
 * waits.
 *
 * <p><b>Threads.</b> Threads of calls add; one thread takes.
 */
public final class CallSpans implements CallEvents {

    /** Max number of tracked calls without an outcome, per side. */
    static final int MAX_OPEN = 16_384;
    /** Max number of ended spans that wait for their export. */
    static final int MAX_ENDED = 8192;

    private static final int EARLY = 4096;
    private static final long MAX_OPEN_NS = TimeUnit.HOURS.toNanos(1);

    private final Map<Long, ExportedSpan> served = new ConcurrentHashMap<>(); // by message id
    private final Map<Long, ExportedSpan> made = new ConcurrentHashMap<>(); // by message id
    // ENDED may arrive before APPENDED: ids and errors of ended calls, each in the slot of its digits
    private final AtomicLongArray early = new AtomicLongArray(EARLY);
    private final ErrorCode[] errors = new ErrorCode[EARLY]; // published by the write of the id
    private final BlockingQueue<ExportedSpan> ended = new ArrayBlockingQueue<>(MAX_ENDED);
    private final AtomicLong dropped = new AtomicLong();

    @Override
    public Set<CallEvent.Kind> kinds() {
        return EnumSet.of(
                CallEvent.Kind.APPENDED, CallEvent.Kind.BEGUN, CallEvent.Kind.RESPONDED, CallEvent.Kind.ENDED);
    }

    @Override
    public void onEvent(CallEvent event) {
        if (event.depth() > 0) {
            return;
        }
        switch (event.kind()) {
            case APPENDED -> {
                open(made, event, ExportedSpan.callerSideId(event.spanId()), event.spanId());
                if (event.isSampled() && early.get(place(event.id())) == event.id()) {
                    endMade(event, errors[place(event.id())]);
                }
            }
            case BEGUN -> open(served, event, event.spanId(), 0);
            case RESPONDED -> {
                if (event.isSampled()) {
                    ExportedSpan span = served.remove(event.id());
                    end(span == null ? spanOf(event, event.spanId(), 0) : span, event.wallNs(), event.error());
                }
            }
            case ENDED -> {
                errors[place(event.id())] = event.error();
                early.set(
                        place(event.id()),
                        // before reading the map, so that at least one of both threads sees the other's write
                        event.id());
                endMade(event, event.error());
            }
            default -> throw new IllegalStateException("no event of interest: " + event.kind());
        }
    }

    private void open(Map<Long, ExportedSpan> calls, CallEvent event, long spanId, long linkedId) {
        if (!event.isSampled()) {
            return;
        }
        if (calls.size() < MAX_OPEN) {
            calls.put(event.id(), spanOf(event, spanId, linkedId));
        } else {
            dropped.incrementAndGet();
        }
    }

    private static ExportedSpan spanOf(CallEvent event, long spanId, long linkedId) {
        long nowNs = event.wallNs();
        return new ExportedSpan(
                event.traceIdHigh(),
                event.traceIdLow(),
                spanId,
                event.callerSpanId(),
                linkedId,
                event.id(),
                event.peer(),
                event.operation(),
                event.type().toString(),
                event.bytes(),
                nowNs,
                nowNs,
                null);
    }

    /** Ends the caller's side, unless the other event of the call has ended it. */
    private void endMade(CallEvent event, ErrorCode error) {
        ExportedSpan span = made.isEmpty() ? null : made.remove(event.id());
        if (span != null) {
            end(span, event.wallNs(), error);
        }
    }

    private static int place(long id) {
        return (int) (id ^ id >>> Integer.SIZE) & EARLY - 1;
    }

    private void end(ExportedSpan span, long atNs, ErrorCode error) {
        if (!ended.offer(span.ended(atNs, error))) {
            dropped.incrementAndGet();
        }
    }

    /** Waits for an ended span, and moves it and others into a list; returns without a span after a time limit. */
    void take(Collection<ExportedSpan> into, int max, long waitMs) throws InterruptedException {
        ExportedSpan first = ended.poll(waitMs, TimeUnit.MILLISECONDS);
        if (first != null) {
            into.add(first);
            ended.drainTo(into, max - 1);
        }
    }

    /** Removes calls without an outcome for an hour, and counts them as dropped. */
    void forgetOld(long nowNs) {
        forgetOld(served, nowNs);
        forgetOld(made, nowNs);
    }

    private void forgetOld(Map<Long, ExportedSpan> calls, long nowNs) {
        for (Iterator<ExportedSpan> each = calls.values().iterator(); each.hasNext(); ) {
            if (nowNs - each.next().startNs() > MAX_OPEN_NS) {
                each.remove();
                dropped.incrementAndGet();
            }
        }
    }

    /** Counts spans that could not be sent. */
    void drop(int count) {
        dropped.addAndGet(count);
    }

    /** Returns the number of ended spans that wait for their export. */
    int waiting() {
        return ended.size();
    }

    /** Returns the number of dropped spans. */
    public long dropped() {
        return dropped.get();
    }
}
