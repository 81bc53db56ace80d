package io.waybill.dispatch;

import io.waybill.api.admin.HandlerInfo;
import io.waybill.host.Clock;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.TreeMap;
import org.agrona.DirectBuffer;

/**
 * Lookup table from requests to handlers. Immutable, but for the counters of its entries; lookups allocate nothing.
 *
 * <p>A key whose handler was removed recently still decides about its requests: they park for it, and don't go to a
 * pattern, so that an update loses none of them. While handlers are still expected no pattern takes anything.
 *
 * <p>Operations are looked up by the UTF-8 bytes of their names, in place in a message.
 */
public final class HandlerTable {

    /** Reason why there is no handler for a request. */
    public enum Absence {
        /** No handler is known, or it was removed too long ago: the caller gets an error at once. */
        NEVER_KNOWN,
        /** A handler was removed recently, or handlers are still expected, as when a node starts: the request parks. */
        LEFT
    }

    private static final int TYPE_CODES = 0x400;
    private static final int MAX_COMPARED = 1000;
    private static final int MAX_COMPARED_CHARS = 100;

    /** State of a key: the entry in use, or null and when the last one was removed. */
    private record Slot(HandlerEntry entry, long leftAtNs) {}

    private final Slot[] byType = new Slot[TYPE_CODES];
    private final NameTable<Slot> operations;
    private final OperationPatterns<Slot> patterns;
    private final boolean hasPatterns;
    private final Slot anyType; // null when there is none
    private final NameTable<Slot> controls;
    private final NameTable<Slot> functions;
    private final boolean hasFunctions;
    private final Map<HandlerKey, Slot> byKey = new HashMap<>();
    private final boolean draining;
    private final boolean expectingMore;
    private final long maxParkingNs;
    private final Clock clock;

    /** The last handler of a key, after it left. */
    record Departure(Provider provider, boolean nonBlocking, DeliveryPolicy delivery, long atNs, long atWallNs) {

        static Departure of(HandlerEntry entry, Clock clock) {
            return new Departure(
                    entry.provider(), entry.nonBlocking(), entry.delivery(), clock.monotonicNs(), clock.wallNs());
        }

        /** Returns the status of the key, with this number of parked requests. */
        HandlerStatus status(HandlerKey key, long parked) {
            return new HandlerStatus(
                    key, HandlerInfo.State.LEFT, provider, atWallNs, nonBlocking, delivery, 0, parked, 0, 0, 0);
        }
    }

    /**
     * Handlers that come and go.
     *
     * @param left the last handlers of keys without one
     * @param isDraining whether handlers that left still end requests
     * @param isExpectingMore whether more handlers are expected
     */
    record Transition(Map<HandlerKey, Departure> left, boolean isDraining, boolean isExpectingMore) {}

    HandlerTable(Map<HandlerKey, HandlerEntry> used, Transition transition, ParkingSettings parking, Clock clock) {
        this.draining = transition.isDraining;
        this.expectingMore = transition.isExpectingMore;
        this.maxParkingNs = parking.maxDurationNs();
        this.clock = clock;
        for (Map.Entry<HandlerKey, Departure> each : transition.left.entrySet()) {
            byKey.put(each.getKey(), new Slot(null, each.getValue().atNs()));
        }
        for (Map.Entry<HandlerKey, HandlerEntry> each : used.entrySet()) {
            byKey.put(each.getKey(), new Slot(each.getValue(), 0));
        }
        Map<String, Slot> operationSlots = new HashMap<>();
        Map<String, Slot> prefixSlots = new HashMap<>();
        Map<String, Slot> controlSlots = new HashMap<>();
        Map<String, Slot> functionSlots = new HashMap<>();
        for (Map.Entry<HandlerKey, Slot> each : byKey.entrySet()) {
            HandlerKey key = each.getKey();
            Slot slot = each.getValue();
            if (key instanceof HandlerKey.OfType ofType) {
                byType[ofType.type().code()] = slot;
            } else if (key instanceof HandlerKey.OfOperation operation) {
                operationSlots.put(operation.name(), slot);
            } else if (key instanceof HandlerKey.OfOperationPrefix prefix) {
                prefixSlots.put(prefix.prefix(), slot);
            } else if (key instanceof HandlerKey.OfControl control) {
                controlSlots.put(control.name(), slot);
            } else if (key instanceof HandlerKey.OfFunction function) {
                functionSlots.put(function.name(), slot);
            }
        }
        functions = new NameTable<>(functionSlots);
        hasFunctions = !functionSlots.isEmpty();
        operations = new NameTable<>(operationSlots);
        patterns = new OperationPatterns<>(prefixSlots, byKey.get(new HandlerKey.OfAnyOperation()), this::decides);
        anyType = byKey.get(new HandlerKey.OfAnyType());
        hasPatterns = anyType != null || !patterns.isEmpty();
        controls = new NameTable<>(controlSlots);
    }

    /** Returns the handler of a type, by the type's code; null when there is none. */
    public HandlerEntry forType(int typeCode) {
        Slot slot = slotOfType(typeCode);
        return slot != null && slot.entry != null || !hasPatterns ? entry(slot) : entry(decidingType(slot, typeCode));
    }

    /** Returns the handler of an operation of a call by name; null when there is none. */
    public HandlerEntry forOperation(byte[] bytes, int offset, int length) {
        Slot slot = operations.get(bytes, offset, length);
        return slot != null && slot.entry != null || !hasPatterns
                ? entry(slot)
                : entry(decidesExactly(slot) ? slot : patterns.get(bytes, offset, length));
    }

    /** Returns the handler of an operation of a call by name; null when there is none. */
    public HandlerEntry forOperation(DirectBuffer bytes, int offset, int length) {
        Slot slot = operations.get(bytes, offset, length);
        return slot != null && slot.entry != null || !hasPatterns
                ? entry(slot)
                : entry(decidesExactly(slot) ? slot : patterns.get(bytes, offset, length));
    }

    /** Returns the handler of a control operation; null when there is none. */
    public HandlerEntry forControl(byte[] bytes, int offset, int length) {
        return entry(controls.get(bytes, offset, length));
    }

    /** Returns the handler of a control operation; null when there is none. */
    public HandlerEntry forControl(DirectBuffer bytes, int offset, int length) {
        return entry(controls.get(bytes, offset, length));
    }

    /** Returns whether any function has a handler, or had one. */
    public boolean hasFunctions() {
        return hasFunctions;
    }

    /** Returns whether handlers that left still end requests: {@link HandlerRegistry#leaving} may have one. */
    public boolean isDraining() {
        return draining;
    }

    /** Returns whether more handlers are expected. */
    public boolean isExpectingMore() {
        return expectingMore;
    }

    /** Returns whether a function has a handler, or had one that was removed so recently that its calls park. */
    public boolean knowsFunction(DirectBuffer bytes, int offset, int length) {
        Slot slot = functions.get(bytes, offset, length);
        return slot != null && absence(slot) == Absence.LEFT;
    }

    /** Returns the handler of a function; null when there is none. */
    public HandlerEntry forFunction(DirectBuffer bytes, int offset, int length) {
        return entry(functions.get(bytes, offset, length));
    }

    /** Returns the handler of exactly this key; null when there is none. */
    public HandlerEntry forKey(HandlerKey key) {
        return entry(byKey.get(key));
    }

    /** Returns the handlers in service, one for each key. */
    public List<HandlerEntry> entries() {
        return byKey.values().stream()
                .map(HandlerTable::entry)
                .filter(Objects::nonNull)
                .toList();
    }

    /** Returns why {@link #forType} returned null. */
    public Absence absenceOfType(int typeCode) {
        return absence(decidingType(slotOfType(typeCode), typeCode));
    }

    /** Returns why {@link #forOperation(byte[], int, int)} returned null. */
    public Absence absenceOfOperation(byte[] bytes, int offset, int length) {
        Slot slot = operations.get(bytes, offset, length);
        return absence(decidesExactly(slot) ? slot : patterns.get(bytes, offset, length));
    }

    /** Returns why {@link #forOperation(DirectBuffer, int, int)} returned null. */
    public Absence absenceOfOperation(DirectBuffer bytes, int offset, int length) {
        Slot slot = operations.get(bytes, offset, length);
        return absence(decidesExactly(slot) ? slot : patterns.get(bytes, offset, length));
    }

    /** Returns why {@link #forControl(byte[], int, int)} returned null. */
    public Absence absenceOfControl(byte[] bytes, int offset, int length) {
        return absence(controls.get(bytes, offset, length));
    }

    /** Returns why {@link #forControl(DirectBuffer, int, int)} returned null. */
    public Absence absenceOfControl(DirectBuffer bytes, int offset, int length) {
        return absence(controls.get(bytes, offset, length));
    }

    /** Returns why {@link #forFunction} returned null. */
    public Absence absenceOfFunction(DirectBuffer bytes, int offset, int length) {
        return absence(functions.get(bytes, offset, length));
    }

    /** Returns why {@link #forKey} returned null. */
    public Absence absence(HandlerKey key) {
        return absence(byKey.get(key));
    }

    /**
     * Returns the key whose handler gets the requests of an operation or type now, or gets them when it returns: the
     * key itself, or a pattern.
     */
    public HandlerKey deciding(HandlerKey key) {
        if (hasPatterns && !decidesExactly(byKey.get(key))) {
            for (HandlerKey pattern : HandlerKey.patternsFor(key)) {
                Slot slot = byKey.get(pattern);
                if (slot != null && decides(slot)) {
                    return pattern;
                }
            }
        }
        return key;
    }

    /**
     * Returns whether no handler of a key, and of the patterns that match it, is there, is remembered, or is expected.
     */
    public boolean neverKnew(HandlerKey key) {
        return !expectingMore
                && !byKey.containsKey(key)
                && (!hasPatterns || HandlerKey.patternsFor(key).stream().noneMatch(byKey::containsKey));
    }

    /**
     * Returns when the last handler of a key was removed, on the monotonic clock:
     * {@link ParkingSettings#maxDurationNs()} counts from then.
     *
     * @throws IllegalStateException when the key has a handler or never had one
     */
    public long leftAtNs(HandlerKey key) {
        Slot slot = byKey.get(key);
        if (slot == null || slot.entry != null) {
            throw new IllegalStateException("no handler of " + key.text() + " left");
        }
        return slot.leftAtNs;
    }

    /**
     * Returns the name that has a handler and is most similar to that of a key without one; empty when none is similar.
     * For error texts.
     */
    public Optional<String> mostSimilar(HandlerKey key) {
        String wanted = key.text();
        int best = wanted.length() / 3 + 1;
        String similar = null;
        if (wanted.length() > MAX_COMPARED_CHARS || byKey.size() > MAX_COMPARED) {
            return Optional.empty(); // calls with unknown names must not cost much
        }
        for (HandlerKey each : new TreeMap<>(byText()).values()) {
            int distance = each.getClass() == key.getClass() ? distance(wanted, each.text()) : Integer.MAX_VALUE;
            if (distance < best) {
                best = distance;
                similar = each.text();
            }
        }
        return Optional.ofNullable(similar);
    }

    private Map<String, HandlerKey> byText() {
        Map<String, HandlerKey> keys = new HashMap<>();
        byKey.forEach((key, slot) -> {
            if (slot.entry != null && key.text().length() <= MAX_COMPARED_CHARS) {
                keys.put(key.text(), key);
            }
        });
        return keys;
    }

    /** Returns the number of letters that are inserted, deleted or replaced from one text to another. */
    private static int distance(String from, String to) {
        int[] above = new int[to.length() + 1];
        Arrays.setAll(above, j -> j);
        for (int i = 1; i <= from.length(); i++) {
            int[] row = new int[to.length() + 1];
            row[0] = i;
            for (int j = 1; j <= to.length(); j++) {
                int replaced = above[j - 1] + (from.charAt(i - 1) == to.charAt(j - 1) ? 0 : 1);
                row[j] = Math.min(replaced, 1 + Math.min(above[j], row[j - 1]));
            }
            above = row;
        }
        return above[to.length()];
    }

    private Slot slotOfType(int typeCode) {
        return typeCode >= 0 && typeCode < TYPE_CODES ? byType[typeCode] : null;
    }

    private static HandlerEntry entry(Slot slot) {
        return slot == null ? null : slot.entry;
    }

    private Absence absence(Slot slot) {
        if (slot == null) {
            return expectingMore ? Absence.LEFT : Absence.NEVER_KNOWN;
        }
        // An entry that is present after all was added since the caller's lookup: its request parks, and is served at
        // once.
        return decides(slot) ? Absence.LEFT : Absence.NEVER_KNOWN;
    }

    /** Returns whether requests go to this slot's handler, or wait for it because it was removed recently. */
    private boolean decides(Slot slot) {
        return slot.entry != null || clock.monotonicNs() - slot.leftAtNs <= maxParkingNs;
    }

    /**
     * Returns whether patterns are ignored: the operation's or type's own slot decides, or handlers are still expected.
     */
    private boolean decidesExactly(Slot own) {
        return !hasPatterns || expectingMore || own != null && decides(own);
    }

    private Slot decidingType(Slot own, int typeCode) {
        boolean isOwn = decidesExactly(own) || anyType == null || !HandlerKey.OfAnyType.covers(typeCode);
        return isOwn || !decides(anyType) ? own : anyType;
    }
}
