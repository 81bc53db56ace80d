package io.waybill.api;

import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;

/**
 * Checks the entries of dicts and the named arguments of a call, and records the positions of their keys: during a
 * check those of every dict around the current one, afterwards those of the outermost one. Keys are compared in their
 * encoded form unless there are many. One thread at a time, until the check has finished.
 */
final class CheckedKeys {

    /** Max number of keys of a dict that are compared pairwise in their encoded form. */
    static final int MAX_COMPARED = 16;

    private static final int MAX_KEPT = 1024;

    private final EncodedValues values;
    private int[] positions = new int[MAX_COMPARED];
    private int count;

    CheckedKeys(EncodedValues values) {
        this.values = values;
    }

    /**
     * Checks the given number of entries of a dict at a depth and records their keys; returns the position after them.
     */
    int checkEntries(int from, int entries, int depth) throws RejectedMessageException {
        int first = count;
        Set<Value> decoded = decoded(entries);
        int at = from;
        for (int i = 0; i < entries; i++) {
            int key = at;
            at = values.check(values.check(key, depth), depth);
            if (!add(first, key, decoded)) {
                throw values.malformed(at, "a dict's key comes twice");
            }
        }
        return at;
    }

    /** Checks the given number of entries of a nested dict; returns the position after them. */
    int checkInner(int from, int entries, int depth) throws RejectedMessageException {
        int outer = count;
        int at = checkEntries(from, entries, depth);
        count = outer;
        return at;
    }

    /** Checks the given number of named arguments and records their keys; returns the position after them. */
    int checkArguments(int from, int arguments) throws RejectedMessageException {
        Set<Value> decoded = decoded(arguments);
        int at = from;
        for (int i = 0; i < arguments; i++) {
            int key = at;
            at = values.check(values.checkText(key), 0);
            if (!add(0, key, decoded)) {
                throw new RejectedMessageException(
                        ErrorCode.MALFORMED_BODY, "the argument " + values.text(key) + " comes twice");
            }
        }
        return at;
    }

    /**
     * Creates the set for the decoded keys of a dict of this size; null if its keys are compared in their encoded
     * form.
     */
    private static Set<Value> decoded(int entries) {
        return entries > MAX_COMPARED ? new HashSet<>() : null;
    }

    /** Adds a key of the dict whose keys begin at {@code first}; returns false if the dict already has it. */
    private boolean add(int first, int key, Set<Value> decoded) throws RejectedMessageException {
        if (decoded != null ? !decoded.add(values.value(key)) : isAmong(first, key)) {
            return false;
        }
        if (count == positions.length) {
            positions = Arrays.copyOf(positions, 2 * count);
        }
        positions[count++] = key;
        return true;
    }

    private boolean isAmong(int first, int key) throws RejectedMessageException {
        for (int i = first; i < count; i++) {
            if (isEqual(positions[i], key)) {
                return true;
            }
        }
        return false;
    }

    /** Returns whether two values are equal. Allocates nothing for strings. */
    private boolean isEqual(int one, int other) throws RejectedMessageException {
        if (values.tag(one) != values.tag(other)) {
            return false;
        }
        if (values.tag(one) != ValueEncoder.TEXT) {
            return values.value(one).equals(values.value(other));
        }
        int bytesEach = values.behindText(one) - one;
        for (int i = EncodedValues.TAG_BYTES; i < bytesEach; i++) {
            if (values.byteAt(one + i) != values.byteAt(other + i)) { // the lengths are compared first
                return false;
            }
        }
        return true;
    }

    /** Returns whether the value is this string. Allocates nothing if all characters are ASCII. */
    boolean isText(int at, String text) {
        int length = text.length();
        if (values.tag(at) != ValueEncoder.TEXT || values.length(at) < length) {
            return false;
        }
        boolean isAscii = values.length(at) == length; // every other character has more than one byte
        for (int i = 0; i < length; i++) {
            char c = text.charAt(i);
            if (isAscii
                    ? values.byteAt(at + EncodedValues.TAG_BYTES + EncodedValues.COUNT_BYTES + i) != c
                    : c > PayloadBytes.MAX_ASCII) {
                return !isAscii && values.text(at).equals(text);
            }
        }
        return isAscii;
    }

    void clear() {
        count = 0;
        if (positions.length > MAX_KEPT) {
            positions = new int[MAX_COMPARED];
        }
    }

    int count() {
        return count;
    }

    /** Returns the position of a key by its number, in the order of addition. */
    int at(int index) {
        return positions[index];
    }
}
