package io.waybill.worker.call;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.RejectedMessageException;
import io.waybill.dispatch.ExecutorRefusedException;
import io.waybill.dispatch.ExecutorSettings;
import io.waybill.dispatch.HandlerExecutor;
import io.waybill.dispatch.PolledTasks;
import io.waybill.host.Clock;
import io.waybill.host.Host;
import io.waybill.host.failure.ForeignErrors;
import io.waybill.tensor.ReceivedTensors;
import io.waybill.tensor.Storages;
import io.waybill.wire.MessageBuffer;
import io.waybill.wire.RecordView;
import io.waybill.worker.metrics.WorkerCounters;
import io.waybill.worker.reference.ReceivedReferences;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.agrona.concurrent.ManyToManyConcurrentArrayQueue;

/**
 * Completes calls whose responses contain tensors for a device. A bundle's converter copies the tensors on threads of
 * this object, so a slow converter blocks no other call; its own call fails at its deadline if it has no outcome by
 * then.
 *
 * <p><b>Threads.</b> Any.
 */
public final class DeviceResponses implements AutoCloseable {

    private static final int MAX_CONVERSIONS = 256;
    private static final Duration CLOSE_LIMIT = Duration.ofSeconds(1);

    /** Pool of buffers for the records of responses. Thread-safe. */
    static final class RecordPool {

        private static final int MAX_KEPT = 256;
        /** Maximum size of a pooled buffer, in bytes. */
        private static final int MAX_KEPT_BYTES = 1 << 20;

        private final ManyToManyConcurrentArrayQueue<RecordView> free = new ManyToManyConcurrentArrayQueue<>(MAX_KEPT);

        RecordView take() {
            RecordView record = free.poll();
            return record != null ? record : new RecordView(new MessageBuffer());
        }

        /** Returns to the pool a record without references to it. */
        void give(RecordView record) {
            if (record.buffer().memory().capacity() <= MAX_KEPT_BYTES) {
                free.offer(record); // a full pool leaves it to the garbage collector
            }
        }
    }

    private final PendingCalls pending;
    private final OutcomeDelivery delivery;
    private final RecordPool records = new RecordPool();
    private final WorkerCounters counters;
    private final Clock clock;
    private final HandlerExecutor threads;
    private final AtomicInteger converting = new AtomicInteger();

    DeviceResponses(CallingContext context, Host host) {
        this.pending = context.pending();
        this.delivery = context.delivery();
        this.counters = context.counters();
        this.clock = host.clock();
        this.threads = new HandlerExecutor(
                context.publishing().worker().name() + "-converter",
                new ExecutorSettings(
                        1,
                        MAX_CONVERSIONS,
                        ExecutorSettings.GROW_DELAY_NS_DEFAULT,
                        0,
                        ExecutorSettings.KEEP_ALIVE_DEFAULT),
                host.threads(),
                host.clock(),
                PolledTasks.Source.PLAIN);
    }

    /**
     * Completes a call that is still pending.
     *
     * @param record the response; owned by this object from now on, like the tensors and the references
     * @param keeping whether the listener keeps the response
     */
    void complete(RecordView record, ReceivedTensors tensors, ReceivedReferences shared, boolean keeping) {
        Conversion conversion = new Conversion(record, tensors, shared, keeping);
        converting.getAndIncrement();
        try {
            threads.execute(conversion);
        } catch (ExecutorRefusedException e) {
            conversion.notRun(ErrorCode.BACK_PRESSURE, "its tensors are for a device, and " + e.getMessage(), e);
        } catch (RuntimeException | Error e) { // such as a thread that can't be started
            conversion.notRun(ErrorCode.UNKNOWN, "its tensors are for a device, and no thread converts them: " + e, e);
        }
    }

    /** Returns the pool for records that are no longer used. */
    RecordPool records() {
        return records;
    }

    /** Returns the number of responses whose listeners have not returned. */
    public int converting() {
        return converting.get();
    }

    /** Accepts no more responses; waits up to a second for converters that are running. */
    @Override
    public void close() {
        threads.close(CLOSE_LIMIT);
    }

    /** Conversion of the tensors of one response. */
    private final class Conversion implements HandlerExecutor.Abandonable {
        private final RecordView record;
        private final ReceivedTensors tensors;
        private final ReceivedReferences shared;
        private final boolean keeping;
        private final ResponseView view = new ResponseView();
        private final AtomicBoolean begun = new AtomicBoolean();

        Conversion(RecordView record, ReceivedTensors tensors, ReceivedReferences shared, boolean keeping) {
            this.record = record;
            this.keeping = keeping;
            this.tensors = tensors;
            this.shared = shared;
        }

        @Override
        public void run() {
            if (!begun.compareAndSet(false, true)) {
                return;
            }
            CallException failure = null;
            try {
                tensors.detach(); // before the converter runs: afterwards the record is reused
                tensors.convert();
                if (!delivery.reports().isEmpty()) {
                    delivery.reports().converted(record);
                }
                if (keeping) { // at this point the call's deadline can still end it
                    OwnedResponse.retain(record.id(), tensors.tensors());
                    view.retained();
                }
            } catch (RejectedMessageException e) {
                failure = failure(e.code(), e.getMessage(), e);
            } catch (CallException e) { // no memory to retain them
                failure = failure(e.code(), e.getMessage(), e);
            } catch (Throwable e) { // the call gets its outcome, whatever the cause
                failure = failure(ErrorCode.UNKNOWN, ForeignErrors.describe(e), e);
            }
            end(failure);
        }

        @Override
        public void abandoned() { // the worker is closing, and has ended the call
            notRun(ErrorCode.CLOSED, "the worker was closed", null);
        }

        /** Fails the call, unless the conversion has begun after all. */
        void notRun(ErrorCode code, String why, Throwable cause) {
            if (begun.compareAndSet(false, true)) {
                end(failure(code, why, cause));
            }
        }

        CallException failure(ErrorCode code, String why, Throwable cause) {
            return OutcomeDelivery.unreadable(record.id(), code, why, cause);
        }

        /**
         * Completes the call.
         *
         * @param failure null when the conversion succeeded
         */
        void end(CallException failure) {
            try {
                PendingCalls.Slot slot = pending.take(record.id());
                if (slot == null) { // its deadline passed in the meantime, or the worker closed
                    counters.countLate();
                    shared.release();
                    if (view.isRetained()) {
                        Storages.releaseAll(tensors.tensors());
                    }
                    return;
                }
                slot.countElsewhere(
                        failure == null ? null : failure.code(), record.buffer().length(), clock.wallNs());
                if (failure == null) {
                    delivery.respond(
                            slot.context(),
                            pending.responding(slot, record.id()),
                            view,
                            record,
                            tensors.tensors(),
                            shared);
                } else {
                    shared.release();
                    delivery.failUnrecorded(slot.context(), slot.link().id(), pending.free(slot), failure);
                }
            } finally {
                converting.getAndDecrement();
                if (tensors.release() == ReceivedTensors.RecordCopy.FREE) {
                    records.give(record);
                }
            }
        }
    }
}
