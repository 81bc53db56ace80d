package io.waybill.worker.call;

import io.waybill.api.MessageId;
import io.waybill.api.Request;
import io.waybill.api.ResponseListener;
import io.waybill.api.context.CallContext;
import io.waybill.api.context.ContextScope;
import io.waybill.api.context.ThreadContext;
import io.waybill.api.intercept.CallInterceptor;
import io.waybill.handling.CallHooks;
import io.waybill.handling.InterceptorDepth;
import io.waybill.host.Clock;
import io.waybill.intercept.InterceptorChain;
import io.waybill.intercept.InterceptorTable;
import io.waybill.intercept.Interceptors;
import io.waybill.worker.metrics.WorkerCounters;
import io.waybill.worker.poll.WaitingCallers;
import io.waybill.worker.reference.SentReferences;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicReference;
import org.agrona.concurrent.ManyToManyConcurrentArrayQueue;

/**
 * Passes every outgoing request through its interceptors to the {@link RequestWriter}. Without interceptors this is one
 * check of an empty table.
 *
 * <p><b>Threads.</b> Any.
 */
final class InterceptingWriter {

    private static final int POOL_SIZE = 256;
    private static final long NOT_WAITING = -1;

    private final RequestWriter writer;
    private final Interceptors<CallInterceptor> interceptors;
    private final PendingCalls pending;
    private final Duration defaultTimeout;
    private final Clock clock;
    private final WaitingCallers waits;
    private final Backpressure backpressure;
    private final WorkerCounters counters;
    private final RepeatedCalls repeated;
    private final ManyToManyConcurrentArrayQueue<CallInterception> pool =
            new ManyToManyConcurrentArrayQueue<>(POOL_SIZE);
    private final AtomicReference<CallInterception> spare = new AtomicReference<>(); // one of the pool, quicker to get
    private final InterceptorDepth depth = new InterceptorDepth();

    InterceptingWriter(CallingContext context, RequestWriter writer, Interceptors<CallInterceptor> interceptors) {
        this.writer = writer;
        this.interceptors = interceptors;
        this.pending = context.pending();
        this.defaultTimeout = context.settings().defaultTimeout();
        this.clock = context.publishing().clock();
        this.waits = context.waiting();
        this.counters = context.counters();
        this.backpressure = new Backpressure(context.settings().limits().overflow(), waits, clock, counters);
        this.repeated = new RepeatedCalls(clock, context.poller());
    }

    /** Throws when the writer is closed. */
    void requireOpen() {
        writer.requireOpen();
    }

    /** Writes a request as {@link RequestWriter#write} does, after its interceptors. */
    long write(
            Request request,
            ResponseListener listener,
            long parent,
            long parentDeadlineNs,
            SentReferences.Creation creation) {
        InterceptorTable<CallInterceptor> table = interceptors.table();
        ThreadContext thread = ThreadContext.own();
        ContextScope before = thread.mark();
        CallContext context = thread.current();
        try {
            return table.isEmpty()
                    ? writer.write(request, listener, parent, parentDeadlineNs, creation, context, context)
                    : intercept(table, request, listener, parent, parentDeadlineNs, creation, context, thread);
        } finally {
            thread.leave(before); // closes the scopes that converters, storages and listeners left open
        }
    }

    private long intercept(
            InterceptorTable<CallInterceptor> table,
            Request request,
            ResponseListener listener,
            long parent,
            long parentDeadlineNs,
            SentReferences.Creation creation,
            CallContext context,
            ThreadContext thread) {
        int[] own = depth.own();
        InterceptorChain<CallInterceptor> chain = own[0] > 0 ? null : begin(table, request, parent, parentDeadlineNs);
        if (chain != null && !isIntercepting(chain, own)) {
            chain.end();
            chain = null;
        }
        if (chain == null) {
            return writer.write(request, listener, parent, parentDeadlineNs, creation, context, context);
        }
        CallInterception call = take();
        call.open(chain, request, listener, parent, context, thread, own);
        boolean isOver = false;
        try {
            Request intercepted = call.intercepted();
            isOver = call.isOver();
            if (call.isKept()) {
                prepareToRepeat(call, request, parentDeadlineNs, creation);
            }
            ResponseListener completed = isOver ? listener : call;
            return writer.write(
                    intercepted, completed, parent, parentDeadlineNs, creation, context, call.sentContext());
        } catch (RuntimeException | Error e) {
            if (!isOver && call.notSent(e)) {
                return MessageId.NONE;
            }
            throw e;
        } finally {
            if (isOver) {
                call.over();
            } else {
                call.written();
            }
        }
    }

    private static boolean isIntercepting(InterceptorChain<CallInterceptor> chain, int[] own) {
        own[0]++; // calls that an interceptor makes there are not intercepted
        try {
            return chain.isIntercepting();
        } finally {
            own[0]--;
        }
    }

    private void prepareToRepeat(
            CallInterception call, Request request, long parentDeadlineNs, SentReferences.Creation creation) {
        if (creation != null) { // the id of the request is also the id of the reference
            call.doNotRepeat();
        } else {
            call.keepUntil(deadlineNs(request, parentDeadlineNs), timeoutNs(request));
        }
    }

    /** Sends the kept request of a call again. */
    void repeat(CallHooks hooks, CallInterception call, long deadlineNs) {
        long leftNs = deadlineNs == 0 ? Request.NO_TIMEOUT : deadlineNs - clock.bootNs();
        if (deadlineNs != 0 && leftNs == Request.NO_TIMEOUT) {
            leftNs = -1;
        }
        writer.write(
                hooks.repeated(Duration.ofNanos(leftNs)),
                call,
                hooks.parent(),
                0,
                null,
                call.context(),
                call.sentContext());
    }

    /**
     * Finds the interceptors of a request, and counts the call as begun at each of them; null for none. Waits while one
     * of them is replaced, as for room in the journal, unless a request in flight waits for the call: the version that
     * leaves may be waiting for that.
     */
    private InterceptorChain<CallInterceptor> begin(
            InterceptorTable<CallInterceptor> first, Request request, long parent, long parentDeadlineNs) {
        InterceptorTable<CallInterceptor> table = first;
        long untilNs = NOT_WAITING;
        while (true) {
            InterceptorChain<CallInterceptor> chain =
                    table.find(request.type(), request.payloadArray(), request.payloadLength());
            if (chain == null || chain.begin() || isNested(parent) && chain.beginNested()) {
                return chain;
            }
            InterceptorTable<CallInterceptor> next = interceptors.table();
            if (next == table) { // it is being replaced; otherwise it was withdrawn, and has left the new table
                writer.requireOpen();
                untilNs = untilNs == NOT_WAITING ? deadlineNs(request, parentDeadlineNs) : untilNs;
                String why = "an interceptor of " + request.type() + " is being replaced";
                backpressure.await(why, untilNs, timeoutNs(request));
            }
            table = next;
        }
    }

    /** Returns whether a request in flight may wait for a call of this thread, which is inside its handler or polls. */
    private boolean isNested(long parent) {
        return parent != MessageId.NONE || waits.isInside();
    }

    private long timeoutNs(Request request) {
        return request.timeoutNs() == Request.DEFAULT_TIMEOUT ? defaultTimeout.toNanos() : request.timeoutNs();
    }

    /** Returns the time until which a call may wait, on CLOCK_BOOTTIME; 0 for no limit. */
    private long deadlineNs(Request request, long parentDeadlineNs) {
        long timeoutNs = timeoutNs(request);
        long sum = clock.bootNs() + timeoutNs;
        long ownNs = timeoutNs == Request.NO_TIMEOUT || sum < 0 && timeoutNs > 0 ? 0 : Math.max(1, sum);
        return parentDeadlineNs != 0 && (ownNs == 0 || parentDeadlineNs < ownNs) ? parentDeadlineNs : ownNs;
    }

    /** Returns the calls between two attempts. */
    RepeatedCalls repeated() {
        return repeated;
    }

    PendingCalls pending() {
        return pending;
    }

    /** Counts a response whose call got another outcome while interceptors saw it. */
    void countLate() {
        counters.countLate();
    }

    private CallInterception take() {
        CallInterception free = spare.get() == null ? null : spare.getAndSet(null);
        free = free == null ? pool.poll() : free;
        return free == null ? new CallInterception(this, depth) : free;
    }

    void free(CallInterception ended) {
        if (spare.get() == null) {
            spare.setRelease(ended); // two threads at once: one of the two objects is dropped
        } else {
            pool.offer(ended); // a full pool drops it
        }
    }
}
