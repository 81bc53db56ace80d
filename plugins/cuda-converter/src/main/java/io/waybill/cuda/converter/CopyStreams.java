package io.waybill.cuda.converter;

import io.waybill.api.RejectedMessageException;
import java.util.ArrayDeque;
import java.util.Deque;
import jcuda.driver.CUstream;
import jcuda.driver.CUstream_flags;
import jcuda.driver.JCudaDriver;

/** Streams of one device for copies in one direction: as many as copies are begun at a time, used again and again. Thread-safe. */
final class CopyStreams {

    private final CudaDevice device;
    // guarded by this
    private final Deque<CUstream> free = new ArrayDeque<>();
    private int open;

    CopyStreams(CudaDevice device) {
        this.device = device;
    }

    /** Takes a stream for the calling thread. */
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

    /** Gives a stream back: what it still does comes before the work of its next user. */
    synchronized void giveBack(CUstream stream) {
        free.push(stream);
    }

    /** Ends a stream after an error: its work is complete, or has failed, on return. */
    void discard(CUstream stream) {
        CudaCalls.error(() -> JCudaDriver.cuStreamSynchronize(stream));
        destroy(stream);
    }

    private void destroy(CUstream stream) {
        CudaCalls.error(() -> JCudaDriver.cuStreamDestroy(stream)); // there is nothing left to do about an error
        synchronized (this) {
            open--;
        }
    }

    /** Ends the streams that are not in use. */
    void close() {
        for (CUstream stream = poll(); stream != null; stream = poll()) {
            destroy(stream);
        }
    }

    private synchronized CUstream poll() {
        return free.poll();
    }

    /** Returns how many streams there are. */
    synchronized int open() {
        return open;
    }
}
