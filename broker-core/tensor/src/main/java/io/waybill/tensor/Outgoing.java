package io.waybill.tensor;

import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import io.waybill.tensor.memory.NativeMemory;
import io.waybill.tensor.memory.StridedCopy;
import io.waybill.tensor.segment.Lease;
import io.waybill.tensor.segment.Region;
import io.waybill.tensor.segment.SegmentPool;
import io.waybill.tensor.segment.SegmentStorage;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * Storage of the section that a {@link Plan} writes: a whole storage, or the elements of one tensor without gaps.
 * Reused; belongs to its plan's thread.
 */
final class Outgoing {

    /** The storage whose bytes travel, in host memory; the device's storage when it is shared. */
    Storage host;

    /** Handle by which the receiver finds a shared storage; null when the storage's bytes travel. */
    byte[] handle;

    /** The only tensor whose elements travel; null when the whole storage does. */
    Tensor clone;

    long size;
    /** Number of the sender's device in the section's table. */
    int origin;

    /** Number of the receiver's device in the section's table. */
    int target;

    boolean inline;
    /** Offset of an inlined storage, or a handle, from the record's start. */
    int recordOffset;

    /** Lease, unless it is inlined. */
    Lease lease;

    /** Position in a segment; null when it is in none. */
    Region region;

    long offsetInRegion;

    void begin(Storage hostStorage, Tensor onlyTensor, int originNumber, int targetNumber) {
        host = hostStorage;
        clone = onlyTensor;
        origin = originNumber;
        target = targetNumber;
        size = onlyTensor == null ? hostStorage.sizeBytes() : onlyTensor.elementBytes();
        handle = null;
        inline = false;
        recordOffset = 0;
        lease = null;
        region = null;
        offsetInRegion = 0;
    }

    /** Begins with a shared storage. */
    void beginShared(Storage onDevice, byte[] itsHandle, int originNumber, int targetNumber) {
        begin(onDevice, null, originNumber, targetNumber);
        handle = itsHandle;
    }

    void clear() {
        handle = null;
        host = null;
        clone = null;
        lease = null;
        region = null;
    }

    boolean isShared() {
        return handle != null;
    }

    boolean isInSegment() {
        return !inline && handle == null;
    }

    int kind() {
        if (isShared()) {
            return TensorSection.SHARED;
        }
        return inline ? TensorSection.INLINE : TensorSection.SEGMENT;
    }

    /** Returns the number of its bytes in the record. */
    long recordBytes() {
        if (isShared()) {
            return handle.length;
        }
        return inline ? size : 0;
    }

    /** Returns whether it is already inside a segment of this pool. */
    boolean isIn(SegmentPool pool) {
        return clone == null && host instanceof SegmentStorage s && s.pool() == pool;
    }

    /** Writes the part of it that is in a record. */
    void write(UnsafeBuffer record, NativeMemory memory) {
        if (isShared()) {
            record.putBytes(recordOffset, handle);
        } else {
            copyTo(record.addressOffset() + recordOffset, memory);
        }
    }

    void copyTo(long address, NativeMemory memory) {
        if (clone != null) {
            StridedCopy.copy(clone, host.readAddress(), address, memory);
        } else if (size > 0) {
            memory.copy(host.readAddress(), address, size);
        }
    }
}
