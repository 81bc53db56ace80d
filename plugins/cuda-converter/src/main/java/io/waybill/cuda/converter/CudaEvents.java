package io.waybill.cuda.converter;

import io.waybill.api.RejectedMessageException;
import io.waybill.api.tensor.Device;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import jcuda.driver.CUevent;
import jcuda.driver.CUevent_flags;
import jcuda.driver.CUstream;
import jcuda.driver.JCudaDriver;

/**
 * Events of one device, which order the work of its streams. Waits for them block in the driver, and keep no core busy.
 *
 * <p><b>Threads.</b> Thread-safe; the device's context is current. <b>Ownership.</b> The creator of an event destroys
 * it, once.
 */
final class CudaEvents {

    private static final int FLAGS = CUevent_flags.CU_EVENT_BLOCKING_SYNC | CUevent_flags.CU_EVENT_DISABLE_TIMING;

    private final Device device;
    private final AtomicInteger count = new AtomicInteger();

    CudaEvents(Device device) {
        this.device = device;
    }

    /** Use of a recorded event. */
    interface Use {
        void run(CUevent event) throws RejectedMessageException;
    }

    CUevent create() throws RejectedMessageException {
        CUevent event = new CUevent();
        CudaCalls.check(device, "cuEventCreate", () -> JCudaDriver.cuEventCreate(event, FLAGS));
        count.incrementAndGet();
        return event;
    }

    /** Records an event that passes after the present work on a stream. */
    void record(CUevent event, CUstream stream) throws RejectedMessageException {
        CudaCalls.check(device, "cuEventRecord", () -> JCudaDriver.cuEventRecord(event, stream));
    }

    /** Creates an event that passes after the present work on a stream. */
    CUevent recorded(CUstream stream) throws RejectedMessageException {
        CUevent event = create();
        boolean isRecorded = false;
        try {
            record(event, stream);
            isRecorded = true;
            return event;
        } finally {
            if (!isRecorded) {
                destroy(event);
            }
        }
    }

    /** Uses an event that passes after the present work on a stream, and destroys it. */
    void after(CUstream stream, Use use) throws RejectedMessageException {
        CUevent event = recorded(stream);
        try {
            use.run(event);
        } finally {
            destroy(event);
        }
    }

    /** Makes later work on a stream wait for an event. */
    void await(CUstream stream, CUevent event) throws RejectedMessageException {
        CudaCalls.check(device, "cuStreamWaitEvent", () -> JCudaDriver.cuStreamWaitEvent(stream, event, 0));
    }

    /** Makes later work on a stream wait for the present work on other streams. */
    void awaitAll(CUstream stream, List<ThreadStream> streams) throws RejectedMessageException {
        for (ThreadStream each : streams) {
            after(each.handle(), event -> await(stream, event));
        }
    }

    /** Waits for an event. */
    void synchronize(CUevent event) throws RejectedMessageException {
        CudaCalls.check(device, "cuEventSynchronize", () -> JCudaDriver.cuEventSynchronize(event));
    }

    /** Returns whether an event has passed. */
    boolean isComplete(CUevent event) throws RejectedMessageException {
        return CudaCalls.isReady(device, "cuEventQuery", () -> JCudaDriver.cuEventQuery(event));
    }

    /** Frees an event, once. Work that waits for it is not affected. */
    void destroy(CUevent event) {
        count.decrementAndGet();
        CudaCalls.error(() -> JCudaDriver.cuEventDestroy(event));
    }

    /** Returns the number of events. */
    int count() {
        return count.get();
    }
}
