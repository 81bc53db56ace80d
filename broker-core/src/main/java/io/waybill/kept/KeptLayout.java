package io.waybill.kept;

import io.waybill.api.tensor.Tensor;

/**
 * Layout of the file of a kept value. All numbers are little-endian, and unsigned unless it says otherwise.
 *
 * <pre>
 * header
 * offset size field
 *   0     8   magic           the letters {@code WKEPTVAL}
 *   8     4   format          1
 *  12     4   head checksum   CRC-32C of the head, these four bytes counted as 0
 *  16     8   file length
 *  24     8   local_id        of the reference
 *  32     2   created_on      of the reference
 *  34     2   owner           the worker's id
 *  36     4   epoch      of the owner, when it wrote this
 *  40     4   head length     of all that stands before the first storage
 *  44     4   payload length  at most 64 MiB
 *  48     2   tensor count    0..32768, as in a message
 *  50     2   storage count   0..32768, not more than tensors
 *  52     1   type length     0..255
 *  53    11   reserved        0
 *
 * type        its name in UTF-8
 * payload     the value, as a response to a fetch has it
 *
 * tensor, one behind the other
 *   0     1   dtype           libtorch's code
 *   1     1   flags           bit 0: requires grad; other bits 0
 *   2     1   dimensions      0..64
 *   3     1   reserved        0
 *   4     2   storage         number of the storage, from 0
 *   6     2   reserved        0
 *   8     8   storage offset  of the first element, in elements
 *  16     8n  sizes           elements per dimension
 *   …     8n  strides         signed; elements between neighbours
 *
 * storage, one behind the other; the last ends the head
 *   0     8   size            in bytes
 *   8     8   offset          of the first byte from the file's start: the next multiple of 64
 *  16     4   checksum        CRC-32C of the bytes
 *  20     4   reserved        0
 *
 * the bytes of the storages, zeros before each; the last ends the file
 * </pre>
 */
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
