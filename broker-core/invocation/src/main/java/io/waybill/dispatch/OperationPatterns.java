package io.waybill.dispatch;

import java.util.BitSet;
import java.util.Map;
import java.util.function.Predicate;
import org.agrona.DirectBuffer;

/**
 * Map from prefixes of operations to values, with one for all operations. Looked up by the operation's UTF-8 bytes in
 * place, without allocation. Immutable.
 *
 * @param <V> type of the values
 */
public final class OperationPatterns<V> {

    private final NameTable<V> prefixes;
    private final BitSet lengths = new BitSet(); // lengths of the prefixes: the only ones to look up
    private final V any;
    private final Predicate<V> counts;

    /**
     * Creates a map.
     *
     * @param prefixes each ends with a dot
     * @param any null for none
     * @param counts whether the search ends at a value; otherwise it continues with the next shorter prefix
     */
    public OperationPatterns(Map<String, V> prefixes, V any, Predicate<V> counts) {
        this.prefixes = new NameTable<>(prefixes);
        for (String prefix : prefixes.keySet()) {
            lengths.set(NameTable.utf8Length(prefix));
        }
        this.any = any;
        this.counts = counts;
    }

    /** Returns whether there is no pattern. */
    public boolean isEmpty() {
        return lengths.isEmpty() && any == null;
    }

    /** Returns the value of the longest matching prefix; null when there is none. */
    public V get(byte[] bytes, int offset, int length) {
        for (int tried = lengths.previousSetBit(length); tried > 0; tried = lengths.previousSetBit(tried - 1)) {
            V value = bytes[offset + tried - 1] == '.' ? prefixes.get(bytes, offset, tried) : null;
            if (value != null && counts.test(value)) {
                return value;
            }
        }
        return last();
    }

    /** Returns the value of the longest matching prefix; null when there is none. */
    public V get(DirectBuffer bytes, int offset, int length) {
        for (int tried = lengths.previousSetBit(length); tried > 0; tried = lengths.previousSetBit(tried - 1)) {
            V value = bytes.getByte(offset + tried - 1) == '.' ? prefixes.get(bytes, offset, tried) : null;
            if (value != null && counts.test(value)) {
                return value;
            }
        }
        return last();
    }

    private V last() {
        return any != null && counts.test(any) ? any : null;
    }
}
