package io.waybill.tensor;

import io.waybill.api.tensor.Tensor;
import io.waybill.wire.Envelope;

/**
 * Layout of a record's tensor section, which is the record's last part: {@code docs/reference/tensor-section.md} has
 * its bytes. It starts at a multiple of 8 ({@link Envelope#sectionOffset}).
 *
 * <p>A storage lies at a multiple of 64 from the record's start because a private copy of a record starts at a multiple
 * of 64: native code gets aligned addresses without another copy.
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

    /** Returns the length of a tensor's entry. */
    static int tensorLength(int dimensions) {
        return SIZES + 16 * dimensions;
    }

    static long align(long offset) {
        return offset + (ALIGNMENT - 1) & -ALIGNMENT;
    }
}
