package io.waybill.kept;

import io.waybill.api.tensor.Tensor;

/** Layout of the file of a kept value; {@code docs/reference/kept-value.md} has its bytes. */
final class KeptLayout {

    /** {@code WKEPTVAL} as it reads in a file of little-endian numbers. */
    static final long MAGIC = 0x4c41565450454b57L;

    static final int FORMAT = 1;

    static final int MAGIC_AT = 0;
    static final int FORMAT_AT = 8;
    static final int CHECKSUM_AT = 12;
    static final int FILE_LENGTH_AT = 16;
    static final int LOCAL_ID_AT = 24;
    static final int CREATED_ON_AT = 32;
    static final int OWNER_AT = 34;
    static final int EPOCH_AT = 36;
    static final int HEAD_LENGTH_AT = 40;
    static final int PAYLOAD_LENGTH_AT = 44;
    static final int TENSOR_COUNT_AT = 48;
    static final int STORAGE_COUNT_AT = 50;
    static final int TYPE_LENGTH_AT = 52;
    static final int RESERVED_AT = 53;
    static final int HEADER_LENGTH = 64;

    static final int TENSOR_FIXED_LENGTH = 16;
    static final int STORAGE_LENGTH = 24;
    static final int REQUIRES_GRAD = 1;

    static final int MAX_TYPE_BYTES = 255;
    static final int MAX_PAYLOAD_BYTES = 64 << 20;
    static final int MAX_TENSORS = 1 << 15;
    static final int MAX_HEAD_BYTES = HEADER_LENGTH
            + MAX_TYPE_BYTES
            + MAX_PAYLOAD_BYTES
            + MAX_TENSORS * (tensorLength(Tensor.MAX_DIMENSIONS) + STORAGE_LENGTH);

    /** Size of the buffer for the bytes of a storage. */
    static final int PIECE_BYTES = 1 << 18;

    private static final int ALIGNMENT = 64;

    private KeptLayout() {}

    static int tensorLength(int dimensions) {
        return TENSOR_FIXED_LENGTH + 16 * dimensions;
    }

    /** Returns the offset of a storage that comes after this many bytes. */
    static long align(long offset) {
        return offset + (ALIGNMENT - 1) & -ALIGNMENT;
    }
}
