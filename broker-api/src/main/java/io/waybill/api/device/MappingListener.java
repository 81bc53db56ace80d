package io.waybill.api.device;

import org.osgi.annotation.versioning.ConsumerType;

/**
 * Listener for the memory that tensors travel through, so that a driver can pin it. A {@link DeviceConverter} implements it as well; the service
 * needs no further property.
 *
 * <p><b>Calls.</b> Each segment is reported once to each converter, also one that was mapped before the converter came. Each one that was
 * reported ends with one {@link #unmapping}: before it is unmapped, or when the converter leaves or is replaced by another one for its type.
 *
 * <p><b>Threads.</b> One of the worker's for each converter, which calls one method at a time, in order. Calls do not wait for it: a message may
 * be moved through a segment before {@link #mapped} was called, and while {@link #unmapping} runs because the converter leaves.
 *
 * <p><b>Errors.</b> An exception is logged and counted for the bundle. The segment is used, and unmapped, all the same. A method that has not
 * returned after 5 s is not waited for: this listener is then called no more, and segments are unmapped without it.
 */
@ConsumerType
public interface MappingListener {

    /** A segment was mapped. If this method throws, {@link #unmapping} is not called for it. */
    void mapped(MappedSegment segment);

    /** A segment is about to be unmapped, or the converter leaves. The memory is valid until this method returns. */
    void unmapping(MappedSegment segment);
}
