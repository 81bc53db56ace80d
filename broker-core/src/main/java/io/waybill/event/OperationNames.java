package io.waybill.event;

import java.nio.charset.StandardCharsets;
import org.agrona.DirectBuffer;

/**
 * Cache of names by their bytes: a table where each name has one slot, and replaces the name that was there.
 *
 * <p><b>Threads.</b> Any. Its entries are immutable, so that a race costs one more object.
 */
public final class OperationNames {

    private static final int PLACES = 1024;

    private final Entry[] places = new Entry[PLACES];

    /** Name and its bytes. */
    private record Entry(byte[] utf8, String text) {

        boolean is(DirectBuffer buffer, int at, int length) {
            if (utf8.length != length) {
                return false;
            }
            for (int i = 0; i < length; i++) {
                if (utf8[i] != buffer.getByte(at + i)) {
                    return false;
                }
            }
            return true;
        }
    }

    /** Returns the name in these bytes of UTF-8: the same string as last time, unless another name has replaced it. */
    public String of(DirectBuffer buffer, int at, int length) {
        int hash = length;
        for (int i = 0; i < length; i++) {
            hash = 31 * hash + buffer.getByte(at + i);
        }
        int place = (hash ^ hash >>> 16) & PLACES - 1;
        Entry entry = places[place];
        if (entry == null || !entry.is(buffer, at, length)) {
            byte[] utf8 = new byte[length];
            buffer.getBytes(at, utf8);
            entry = new Entry(utf8, new String(utf8, StandardCharsets.UTF_8));
            places[place] = entry;
        }
        return entry.text;
    }
}
