package io.waybill.tensor;

import io.waybill.api.tensor.Tensor;
import io.waybill.wire.Envelope;

/**
 * The layout of a record's tensor section. It starts at a multiple of 8 ({@link Envelope#sectionOffset}) and is the record's last part:
 * a header, a table of devices, a table of storages, a table of tensors, the bytes of inlined storages. All numbers are little-endian;
 * counters are unsigned, 64-bit numbers are signed and not negative unless it says otherwise.
 *
 * <pre>
 * header
 * offset size field
 *   0     2   storage count   1..32768, not more than tensors
 *   2     2   tensor count    the same as in the envelope
 *   4     1   device count    0..64
 *   5     1   version         1
 *   6     2   reserved        0
 *   8     4   tables length   of header and the three tables together
 *  12     4   reserved        0
 *
 * device, one per device that is not {@code cpu}; device number 0 means {@code cpu}, number n the n-th entry
 *   0     1   index           signed; -1: no particular one
 *   1     1   name length     1..32
 *   2     6   reserved        0
 *   8    32   name            ASCII, zeros behind it
 *
 * storage
 *   0     1   kind            0: inlined, 1: in a segment, 2: in device memory that the sender shares
 *   1     1   origin          number of the device where the sender had it
 *   2     1   target          number of the device where the receiver shall have it
 *   3     5   reserved        0
 *   8     8   size
 *  16     8   offset          inlined: of the first byte from the record's start, in a segment: from the segment's start;
 *                             shared: of the handle's first byte from the record's start; a multiple of 64
 *  24     8   segment id      inlined: 0; shared: length of the handle, 1..256
 *  32     8   lease id         unsigned; inlined: 0. Storages of one record may share a lease
 *
 * tensor
 *   0     1   dtype           libtorch's code
 *   1     1   flags           bit 0: requires grad; other bits 0
 *   2     1   dimensions      0..64
 *   3     1   reserved        0
 *   4     2   storage         number of the storage, from 0
 *   6     2   reserved        0
 *   8     8   storage offset  of the first element, in elements
 *  16     8n  sizes           elements per dimension
 *   …     8n  strides         elements between neighbours; may be negative
 *
 * inlined storages and handles, each at the offset that its entry names; zeros before each, and behind the last up to a multiple of 8
 * </pre>
 *
 * A storage lies at a multiple of 64 from the record's start because a private copy of a record starts at a multiple of 64: native code
 * gets aligned addresses without another copy. What a segment holds is not covered by the record's checksum.
 */
final class TensorSection {

    static final int VERSION = 1;

    static final int STORAGE_COUNT = 0;
    static final int TENSOR_COUNT = 2;
    static final int DEVICE_COUNT = 4;
    static final int VERSION_AT = 5;
    static final int RESERVED_SHORT = 6;
    static final int TABLES_LENGTH = 8;
    static final int RESERVED_INT = 12;
    static final int HEADER_LENGTH = 16;

    static final int DEVICE_INDEX = 0;
    static final int DEVICE_NAME_LENGTH = 1;
    static final int DEVICE_NAME = 8;
    static final int DEVICE_NAME_MAX = 32;
    static final int DEVICE_LENGTH = 40;

    static final int KIND = 0;
    static final int ORIGIN = 1;
    static final int TARGET = 2;
    static final int SIZE = 8;
    static final int OFFSET = 16;
    static final int SEGMENT_ID = 24;
    static final int LEASE_ID = 32;
    static final int STORAGE_LENGTH = 40;

    static final int DTYPE = 0;
    static final int FLAGS = 1;
    static final int DIMENSIONS = 2;
    static final int TENSOR_RESERVED_BYTE = 3;
    static final int STORAGE = 4;
    static final int TENSOR_RESERVED_SHORT = 6;
    static final int STORAGE_OFFSET = 8;
    static final int SIZES = 16;

    static final int INLINE = 0;
    static final int SEGMENT = 1;
    static final int SHARED = 2;

    static final int REQUIRES_GRAD = 1;

    /** Number of the device {@code cpu}, which has no entry. */
    static final int CPU = 0;

    static final int MAX_TENSORS = Envelope.MAX_TENSORS;
    static final int MAX_DEVICES = 64;
    static final int MAX_DIMENSIONS = Tensor.MAX_DIMENSIONS;

    /** Alignment of storages. */
    static final int ALIGNMENT = 64;

    private TensorSection() {}

    /** Length of a tensor's entry. */
    static int tensorLength(int dimensions) {
        return SIZES + 16 * dimensions;
    }

    static long align(long offset) {
        return offset + (ALIGNMENT - 1) & -ALIGNMENT;
    }
}
