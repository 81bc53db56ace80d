package io.waybill.api;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * Little-endian numbers and strings at positions of a buffer, which may be on the heap or outside of it. The caller
 * checks the bounds.
 *
 * <p>Numbers are read byte by byte from an array, and a short payload is copied into one: reading a number from a
 * buffer takes a dozen calls, all of them interpreted in a process that has just started.
 */
class PayloadBytes {

    static final int MAX_ASCII = 0x7f;
    static final ByteBuffer NOTHING = ByteBuffer.allocate(0);

    private static final int MIN_COPIED = 512;
    private static final int MAX_COPIED = 4096;
    private static final int LONG_TEXT = 256;
    private static final long U32 = 0xffff_ffffL;
    private static final long HIGH_BITS = 0x8080808080808080L;

    private ByteBuffer bytes = NOTHING; // little-endian, unless array is set and the order is irrelevant
    private int end;
    private byte[] array; // the buffer's array, or a copy of a short buffer without one; otherwise null
    private int base; // index of position 0 in the array
    private byte[] copy = new byte[0]; // reused

    /** Opens the buffer's remaining bytes for reading; the buffer itself is not changed. */
    final void open(ByteBuffer source) {
        end = source.limit();
        if (source.hasArray()) {
            array = source.array();
            base = source.arrayOffset();
        } else {
            array = source.remaining() <= MAX_COPIED ? copied(source) : null;
            base = -source.position();
        }
        bytes = array != null || source.order() == ByteOrder.LITTLE_ENDIAN
                ? source
                : source.duplicate().order(ByteOrder.LITTLE_ENDIAN);
    }

    private byte[] copied(ByteBuffer source) {
        int length = source.remaining();
        if (copy.length < length) {
            copy = new byte[Math.max(length, MIN_COPIED)];
        }
        source.get(source.position(), copy, 0, length);
        return copy;
    }

    /** Returns the position after the last byte. */
    final int end() {
        return end;
    }

    final String utf8Text(int at, int length) {
        return array == null
                ? new String(part(at, length), StandardCharsets.UTF_8)
                : new String(array, base + at, length, StandardCharsets.UTF_8);
    }

    final byte[] part(int at, int length) {
        if (array != null) {
            return Arrays.copyOfRange(array, base + at, base + at + length);
        }
        byte[] part = new byte[length];
        bytes.get(at, part);
        return part;
    }

    final byte byteAt(int at) {
        return array == null ? bytes.get(at) : array[base + at];
    }

    final int u8(int at) {
        return byteAt(at) & 0xff;
    }

    final int u16(int at) {
        return u8(at) | u8(at + 1) << 8;
    }

    final int intAt(int at) {
        byte[] from = array;
        if (from == null) {
            return bytes.getInt(at);
        }
        int i = base + at;
        return from[i] & 0xff | (from[i + 1] & 0xff) << 8 | (from[i + 2] & 0xff) << 16 | from[i + 3] << 24;
    }

    final long u32(int at) {
        return intAt(at) & U32;
    }

    final long longAt(int at) {
        return array == null ? bytes.getLong(at) : u32(at) | (long) intAt(at + Integer.BYTES) << 32;
    }

    /**
     * Returns whether the bytes are well-formed UTF-8, by table 3-7 of the Unicode standard: accepts the same bytes as
     * the JDK's decoder, and creates no characters.
     */
    final boolean isUtf8(int from, int to) {
        int at = from;
        while (at < to) {
            at = behindAscii(at, to);
            if (at == to) {
                return true;
            }
            int first = u8(at++);
            if (first <= MAX_ASCII) {
                continue;
            }
            int more = first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;
            if (first < 0xc2 || first > 0xf4 || more > to - at) {
                return false;
            }
            int second = u8(at);
            int least = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
            int most = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
            if (second < least || second > most) {
                return false;
            }
            for (int i = 1; i < more; i++) {
                if ((byteAt(at + i) & 0xc0) != 0x80) {
                    return false;
                }
            }
            at += more;
        }
        return true;
    }

    /** Returns a position after leading ASCII characters; the last few of them may come after it. */
    private int behindAscii(int from, int to) {
        int at = from;
        byte[] chars = array;
        if (chars == null || to - at >= LONG_TEXT) {
            while (to - at >= Long.BYTES && (bytes.getLong(at) & HIGH_BITS) == 0) {
                at += Long.BYTES;
            }
        }
        if (chars != null) {
            int index = base + at;
            int last = base + to;
            while (index < last && chars[index] >= 0) {
                index++;
            }
            at = index - base;
        }
        return at;
    }
}
