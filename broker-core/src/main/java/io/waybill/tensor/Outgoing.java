package io.waybill.tensor;

import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import io.waybill.tensor.memory.HostBytes;
import io.waybill.tensor.memory.NativeMemory;
import io.waybill.tensor.memory.StridedCopy;
import io.waybill.tensor.segment.Lease;
import io.waybill.tensor.segment.Region;
import io.waybill.tensor.segment.SegmentPool;
import io.waybill.tensor.segment.SegmentStorage;

/**
 * One storage of the section that a {@link Plan} writes: a whole storage, or the elements of one tensor without gaps.
 * Reused; belongs to its plan's thread.
 */
final class Outgoing {

    /** The storage whose bytes travel, in host memory. */
    Storage host;

    /** The only tensor whose elements travel; null when the whole storage does. */
    Tensor clone;

    long size;
    /** Number of the sender's device in the section's table. */
    int origin;

    /** Number of the receiver's device in the section's table. */
    int target;

    boolean inline;
    /** Offset of an inlined storage from the record's start. */
    int recordOffset;

    /** Lease and position in a segment; unless it is inlined. */
    Lease lease;

    Region region;
    long offsetInRegion;

    void begin(Storage hostStorage, Tensor onlyTensor, int originNumber, int targetNumber) {
        host = hostStorage;
        clone = onlyTensor;
        origin = originNumber;
        target = targetNumber;
        size = onlyTensor == null ? hostStorage.sizeBytes() : onlyTensor.elementBytes();
        inline = false;
        recordOffset = 0;
        lease = null;
        region = null;
        offsetInRegion = 0;
    }

    void clear() {
        host = null;
        clone = null;
        lease = null;
        region = null;
    }

    /** Returns whether it is already inside a segment of this pool. */
    boolean isIn(SegmentPool pool) {
        return clone == null && host instanceof SegmentStorage s && s.pool() == pool;
    }

    void copyTo(long address, NativeMemory memory) {
        if (clone != null) {
            StridedCopy.copy(clone, HostBytes.readAddress(host), address, memory);
        } else if (size > 0) {
            memory.copy(HostBytes.readAddress(host), address, size);
        }
    }
}
