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
 * <p><b>Threads.</b> Thread-safe; the device's context is current. <b>Ownership.</b> Who creates an event destroys it, once.
 */
final class CudaEvents {

    private static final int FLAGS = CUevent_flags.CU_EVENT_BLOCKING_SYNC | CUevent_flags.CU_EVENT_DISABLE_TIMING;

    private final Device device;
    private final AtomicInteger count = new AtomicInteger();

    CudaEvents(Device device) {
        this.device = device;
    }

    /** What is done with an event that was recorded. */
    interface Use {
        void run(CUevent event) throws RejectedMessageException;
    }

    CUevent create() throws RejectedMessageException {
        CUevent event = new CUevent();
        CudaCalls.check(device, "cuEventCreate", () -> JCudaDriver.cuEventCreate(event, FLAGS));
        count.incrementAndGet();
        return event;
    }

    /** Lets an event pass after the work that was put on a stream until now. */
    void record(CUevent event, CUstream stream) throws RejectedMessageException {
        CudaCalls.check(device, "cuEventRecord", () -> JCudaDriver.cuEventRecord(event, stream));
    }

    /** Creates an event that passes after the work that was put on a stream until now. */
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

    /** Uses an event that passes after the work that was put on a stream until now, and destroys it. */
    void after(CUstream stream, Use use) throws RejectedMessageException {
        CUevent event = recorded(stream);
        try {
            use.run(event);
        } finally {
            destroy(event);
        }
    }

    /** Lets work that is put on a stream from now on run after an event. */
    void await(CUstream stream, CUevent event) throws RejectedMessageException {
        CudaCalls.check(device, "cuStreamWaitEvent", () -> JCudaDriver.cuStreamWaitEvent(stream, event, 0));
    }

    /** Lets work that is put on a stream from now on run after some streams' work until now. */
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

    /** Frees an event, once. The driver keeps what waits for it. */
    void destroy(CUevent event) {
        count.decrementAndGet();
        CudaCalls.error(() -> JCudaDriver.cuEventDestroy(event));
    }

    /** Returns how many there are. */
    int count() {
        return count.get();
    }
}
