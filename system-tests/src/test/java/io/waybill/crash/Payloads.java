package io.waybill.crash;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.zip.CRC32C;

/** What callers send and servers respond with: no two alike, so that none passes for another. Stateless. */
final class Payloads {

    /** Of the tensor of a request that has one: more than travels in the record. */
    static final int TENSOR_BYTES = 16 << 10;

    private static final int BYTES = 48;
    private static final long MIXER = 0x9e3779b97f4a7c15L;

    private Payloads() {}

    /** The checker reads the first two numbers. */
    static byte[] request(long epoch, long number) {
        ByteBuffer bytes = ByteBuffer.allocate(BYTES).order(ByteOrder.LITTLE_ENDIAN);
        bytes.putLong(epoch).putLong(number);
        for (long x = (epoch << 40 | number) * MIXER; bytes.hasRemaining(); x += MIXER) {
            bytes.putLong(x ^ x >>> 29);
        }
        return bytes.array();
    }

    static byte[] response(long id, long epoch, ByteBuffer request) {
        ByteBuffer bytes =
                ByteBuffer.allocate(2 * Long.BYTES + request.remaining()).order(ByteOrder.LITTLE_ENDIAN);
        bytes.putLong(id).putLong(epoch);
        for (int i = request.position(); i < request.limit(); i++) {
            bytes.put((byte) (request.get(i) ^ 0x5a));
        }
        return bytes.array();
    }

    /** What the tensor of a request with this payload holds, of which this is a part. */
    static byte tensor(ByteBuffer request, int at) {
        return (byte) (request.get(request.position() + 16 + (at & 7)) + at);
    }

    static int digest(ByteBuffer payload) {
        CRC32C crc = new CRC32C();
        crc.update(payload.duplicate());
        return (int) crc.getValue();
    }

    static int digest(byte[] payload) {
        return digest(ByteBuffer.wrap(payload));
    }
}
