package io.waybill.cuda.converter;

import io.waybill.api.RejectedMessageException;
import java.util.ArrayDeque;
import java.util.Deque;
import jcuda.driver.CUstream;
import jcuda.driver.CUstream_flags;
import jcuda.driver.JCudaDriver;

/** Streams of one device for copies in one direction: as many as concurrent copies, reused. Thread-safe. */
final class CopyStreams {

    private final CudaDevice device;
    // guarded by this
    private final Deque<CUstream> free = new ArrayDeque<>();
    private int open;

    CopyStreams(CudaDevice device) {
        this.device = device;
    }

    /** Removes and returns a stream for the calling thread. */
    CUstream take() throws RejectedMessageException {
        synchronized (this) {
            CUstream stream = free.poll();
            if (stream != null) {
                return stream;
            }
        }
        CUstream created = new CUstream();
        CudaCalls.check(
                device,
                "cuStreamCreate",
                () -> JCudaDriver.cuStreamCreate(created, CUstream_flags.CU_STREAM_NON_BLOCKING));
        synchronized (this) {
            open++;
        }
        return created;
    }

    /** Returns a stream for reuse: its pending work precedes the work of its next user. */
    synchronized void giveBack(CUstream stream) {
        free.push(stream);
    }

    /** Destroys a stream after an error; on return its work has completed or failed. */
    void discard(CUstream stream) {
        CudaCalls.error(() -> JCudaDriver.cuStreamSynchronize(stream));
        destroy(stream);
    }

    private void destroy(CUstream stream) {
        CudaCalls.error(() -> JCudaDriver.cuStreamDestroy(stream)); // an error here has no further consequence
        synchronized (this) {
            open--;
        }
    }

    /** Destroys the unused streams. */
    void close() {
        for (CUstream stream = poll(); stream != null; stream = poll()) {
            destroy(stream);
        }
    }

    private synchronized CUstream poll() {
        return free.poll();
    }

    /** Returns the number of streams. */
    synchronized int open() {
        return open;
    }
}
