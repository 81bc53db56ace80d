package io.waybill.event;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.Arrays;
import org.agrona.DirectBuffer;

/**
 * Hashes and compares names where they are encoded in a message, eight bytes at a time: the last eight may overlap those
 * before.
 */
public final class NameBytes {

    private static final VarHandle LONGS = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
    private static final long MIX = 0x9e3779b97f4a7c15L;
    private static final int ROTATED = 29; // the last bytes, which may overlap the first ones

    private NameBytes() {}

    /** Returns whether a name has exactly these bytes. */
    public static boolean isSame(byte[] name, DirectBuffer bytes, int at, int length) {
        if (name.length != length) {
            return false;
        }
        int last = length - Long.BYTES;
        if (last < 0) {
            for (int i = 0; i < length; i++) {
                if (name[i] != bytes.getByte(at + i)) {
                    return false;
                }
            }
            return true;
        }
        for (int i = 0; i < last; i += Long.BYTES) {
            if ((long) LONGS.get(name, i) != bytes.getLong(at + i, ByteOrder.LITTLE_ENDIAN)) {
                return false;
            }
        }
        return (long) LONGS.get(name, last) == bytes.getLong(at + last, ByteOrder.LITTLE_ENDIAN);
    }

    /** Returns whether a name has exactly these bytes. */
    public static boolean isSame(byte[] name, byte[] bytes, int at, int length) {
        return name.length == length && (length == 0 || Arrays.equals(name, 0, length, bytes, at, at + length));
    }

    /** Returns a hash of these bytes, the same for a buffer as for an array. */
    public static long hash(DirectBuffer bytes, int at, int length) {
        long hash = length;
        int last = length - Long.BYTES;
        if (last < 0) {
            for (int i = 0; i < length; i++) {
                hash = hash << Byte.SIZE | bytes.getByte(at + i) & 0xff;
            }
            return mix(hash);
        }
        hash ^= Long.rotateLeft(bytes.getLong(at + last, ByteOrder.LITTLE_ENDIAN), ROTATED);
        for (int i = Long.BYTES; i < last; i += Long.BYTES) {
            hash = mix(hash ^ bytes.getLong(at + i, ByteOrder.LITTLE_ENDIAN));
        }
        return mix(hash ^ bytes.getLong(at, ByteOrder.LITTLE_ENDIAN));
    }

    /** Returns a hash of these bytes, the same for an array as for a buffer. */
    public static long hash(byte[] bytes, int at, int length) {
        long hash = length;
        int last = length - Long.BYTES;
        if (last < 0) {
            for (int i = 0; i < length; i++) {
                hash = hash << Byte.SIZE | bytes[at + i] & 0xff;
            }
            return mix(hash);
        }
        hash ^= Long.rotateLeft((long) LONGS.get(bytes, at + last), ROTATED);
        for (int i = Long.BYTES; i < last; i += Long.BYTES) {
            hash = mix(hash ^ (long) LONGS.get(bytes, at + i));
        }
        return mix(hash ^ (long) LONGS.get(bytes, at));
    }

    private static long mix(long bits) {
        long mixed = bits * MIX;
        return mixed ^ mixed >>> Integer.SIZE;
    }
}
