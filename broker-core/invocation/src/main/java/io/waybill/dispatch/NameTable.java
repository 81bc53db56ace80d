package io.waybill.dispatch;

import io.waybill.event.NameBytes;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import org.agrona.DirectBuffer;

/**
 * Map from names to values, looked up by the names' UTF-8 bytes in place, without allocation. Immutable.
 *
 * <p>Open addressing over a table at most half full; a stored hash is compared before the bytes are.
 *
 * @param <V> type of the values
 */
public final class NameTable<V> {

    private final int mask;
    private final byte[][] names;
    private final int[] hashes;
    private final Object[] values;

    public NameTable(Map<String, V> entries) {
        int capacity = Integer.highestOneBit(Math.max(4, entries.size() * 2)) << 1;
        mask = capacity - 1;
        names = new byte[capacity][];
        hashes = new int[capacity];
        values = new Object[capacity];
        for (Map.Entry<String, V> each : entries.entrySet()) {
            put(each.getKey().getBytes(StandardCharsets.UTF_8), each.getValue());
        }
    }

    static int utf8Length(String name) {
        return name.getBytes(StandardCharsets.UTF_8).length;
    }

    private void put(byte[] name, V value) {
        int hash = (int) NameBytes.hash(name, 0, name.length);
        int slot = hash & mask;
        while (names[slot] != null) {
            slot = (slot + 1) & mask;
        }
        names[slot] = name;
        hashes[slot] = hash;
        values[slot] = value;
    }

    /** Returns the value of a name; null when there is none. */
    public V get(byte[] bytes, int offset, int length) {
        int hash = (int) NameBytes.hash(bytes, offset, length);
        for (int slot = hash & mask; names[slot] != null; slot = (slot + 1) & mask) {
            if (hashes[slot] == hash && NameBytes.isSame(names[slot], bytes, offset, length)) {
                return value(slot);
            }
        }
        return null;
    }

    /** Returns the value of a name; null when there is none. */
    public V get(DirectBuffer bytes, int offset, int length) {
        int hash = (int) NameBytes.hash(bytes, offset, length);
        for (int slot = hash & mask; names[slot] != null; slot = (slot + 1) & mask) {
            if (hashes[slot] == hash && NameBytes.isSame(names[slot], bytes, offset, length)) {
                return value(slot);
            }
        }
        return null;
    }

    @SuppressWarnings("unchecked") // only put writes here
    private V value(int slot) {
        return (V) values[slot];
    }
}
