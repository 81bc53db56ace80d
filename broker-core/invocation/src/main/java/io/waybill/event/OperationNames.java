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
    private record Entry(byte[] utf8, String text) {}

    /** Returns the name in these bytes of UTF-8: the same string as last time, unless another name has replaced it. */
    public String of(DirectBuffer buffer, int at, int length) {
        int place = (int) NameBytes.hash(buffer, at, length) & PLACES - 1;
        Entry entry = places[place];
        if (entry == null || !NameBytes.isSame(entry.utf8, buffer, at, length)) {
            byte[] utf8 = new byte[length];
            buffer.getBytes(at, utf8);
            entry = new Entry(utf8, new String(utf8, StandardCharsets.UTF_8));
            places[place] = entry;
        }
        return entry.text;
    }
}
