package io.waybill.cuda.converter;

import io.waybill.api.RejectedMessageException;
import io.waybill.api.tensor.Storage;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import jcuda.driver.CUevent;
import jcuda.driver.CUstream;

/**
 * A started copy to a device, which reads its source until its event has passed.
 *
 * <p><b>Threads.</b> {@link #complete}: the device's thread. Other methods: any. <b>Ownership.</b> Holds a count of the
 * source, and the event, until it is completed.
 */
final class ArrivingCopy {

    private static final Logger LOG = System.getLogger(ArrivingCopy.class.getName());

    private final CudaDevice device;
    private final Storage source;
    // guarded by this
    private CUevent event; // null after completion
    private RejectedMessageException failure; // null if the bytes arrived, or may still arrive

    /** Creates a copy; takes ownership of the event, and adds a count to the source. */
    ArrivingCopy(CudaDevice device, Storage source, CUevent event) {
        this.device = device;
        this.source = source.retain();
        this.event = event;
    }

    /**
     * Makes later work on a stream wait for the copy.
     *
     * @return whether the copy may still run
     * @throws RejectedMessageException if it has failed
     */
    synchronized boolean orderBefore(CUstream stream) throws RejectedMessageException {
        if (failure != null) {
            throw failure;
        }
        if (event == null) {
            return false;
        }
        device.events().await(stream, event);
        return true;
    }

    /** Waits for the copy and releases its resources. Never throws. */
    void complete() {
        RejectedMessageException failed = null;
        try {
            device.events().synchronize(event); // only this thread completes it
        } catch (RejectedMessageException e) {
            failed = e;
        }
        synchronized (this) {
            device.events().destroy(event);
            event = null;
            failure = failed;
        }
        try {
            source.release();
        } catch (RuntimeException e) { // the boundary around a storage
            LOG.log(Level.WARNING, "A storage that was copied to " + device + " could not be released", e);
        }
    }
}
