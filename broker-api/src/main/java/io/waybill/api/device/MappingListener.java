package io.waybill.api.device;

import org.osgi.annotation.versioning.ConsumerType;

/**
 * Listener for the memory that tensors travel through, so that a driver can pin it. A {@link DeviceConverter}
 * implements this interface, too; the service needs no further property.
 *
 * <p><b>Calls.</b> Each segment is reported once to each converter, also if it was mapped before the converter was
 * installed. Each report is followed by one call of {@link #unmapping}: before the segment is unmapped, or when the
 * converter is removed or replaced.
 *
 * <p><b>Threads.</b> One worker thread per converter, which calls one method at a time, in order. Calls do not wait for
 * it: a message may use a segment before {@link #mapped} was called, and while {@link #unmapping} runs because the
 * converter is being removed.
 *
 * <p><b>Errors.</b> An exception is logged and counted for the bundle. The segment is still used, and later unmapped.
 * If a method has not returned after 5 s, the worker stops calling this listener and unmaps segments without it.
 */
@ConsumerType
public interface MappingListener {

    /** Called after a segment was mapped. If this method throws, {@link #unmapping} is not called for the segment. */
    void mapped(MappedSegment segment);

    /**
     * Called before a segment is unmapped, or when the converter is removed. The memory is valid until this method
     * returns.
     */
    void unmapping(MappedSegment segment);
}
