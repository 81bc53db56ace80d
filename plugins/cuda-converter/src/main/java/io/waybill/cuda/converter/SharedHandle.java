package io.waybill.cuda.converter;

import io.waybill.api.ErrorCode;
import io.waybill.api.RejectedMessageException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.UUID;
import jcuda.driver.SharedMemory;

/**
 * Handle with which the receiver of a message finds the memory of a storage. Little-endian: a version, 7 bytes of 0,
 * the id, the device, the offset, and the driver's handle.
 *
 * @param id id of the storage in the sharing process
 * @param device id of the hardware
 * @param offset offset of the storage's first byte in the allocation, in bytes
 * @param allocation driver's handle of the allocation
 */
record SharedHandle(long id, UUID device, long offset, byte[] allocation) {

    private static final long VERSION = 1;
    private static final int BYTES = 5 * Long.BYTES + SharedMemory.HANDLE_BYTES;

    ByteBuffer encode() {
        return ByteBuffer.allocate(BYTES)
                .order(ByteOrder.LITTLE_ENDIAN)
                .putLong(VERSION)
                .putLong(id)
                .putLong(device.getMostSignificantBits())
                .putLong(device.getLeastSignificantBits())
                .putLong(offset)
                .put(allocation)
                .flip();
    }

    /** Decodes the untrusted bytes of another process. */
    static SharedHandle decode(ByteBuffer encoded) throws RejectedMessageException {
        ByteBuffer bytes = encoded.duplicate().order(ByteOrder.LITTLE_ENDIAN);
        long version = bytes.remaining() < Long.BYTES ? 0 : bytes.getLong();
        if (version != VERSION || bytes.remaining() != BYTES - Long.BYTES) {
            throw new RejectedMessageException(
                    ErrorCode.PEER_CORRUPT,
                    "expected a handle of CUDA memory with version " + VERSION + " and " + BYTES
                            + " bytes, found version " + version + " and " + encoded.remaining() + " bytes");
        }
        long id = bytes.getLong();
        UUID device = new UUID(bytes.getLong(), bytes.getLong());
        long offset = bytes.getLong();
        byte[] allocation = new byte[SharedMemory.HANDLE_BYTES];
        bytes.get(allocation);
        return new SharedHandle(id, device, offset, allocation);
    }
}
