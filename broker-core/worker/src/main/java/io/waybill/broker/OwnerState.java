package io.waybill.broker;

import io.waybill.api.state.StateFullException;
import io.waybill.api.state.StatePolicy;
import io.waybill.api.state.StateStore;
import io.waybill.host.Clock;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Pattern;

/**
 * Stores of one owner, and the room that they share. This object is the lock of all of them.
 *
 * <p><b>Threads.</b> Thread-safe.
 */
final class OwnerState {

    private static final Pattern NAME = Pattern.compile("[a-z0-9._-]{1,64}");

    private final String owner;
    private final Clock clock;
    private final KeptStates kept; // null if nothing is kept
    private final Map<String, StateTable> tables = new TreeMap<>(); // guarded by this
    private int entries; // guarded by this
    private long bytes; // guarded by this

    OwnerState(String owner, Clock clock, KeptStates kept) {
        this.owner = owner;
        this.clock = clock;
        this.kept = kept;
    }

    /** Returns the store of a name; creates it when there is none. */
    synchronized StateTable table(String name) {
        if (!NAME.matcher(name).matches()) {
            throw new IllegalArgumentException("the name of a store is 1 to 64 of a-z 0-9 . - _, and not " + name);
        }
        if (!tables.containsKey(name) && tables.size() >= StateStore.MAX_STORES) {
            throw new IllegalStateException(
                    owner + " has " + StateStore.MAX_STORES + " stores, and at most as many are possible");
        }
        return tables.computeIfAbsent(name, none -> new StateTable(name, this, clock, kept));
    }

    String name() {
        return owner;
    }

    synchronized List<StateStatus> statuses() {
        List<StateStatus> statuses = new ArrayList<>();
        tables.values().forEach(table -> statuses.add(new StateStatus(owner, table.name(), table.usage())));
        return statuses;
    }

    /** Removes entries that have expired by the policies of the stores. */
    synchronized void sweep() {
        tables.values().forEach(StateTable::sweep);
    }

    /**
     * Makes room in a store for a value, under the lock.
     *
     * @param without key whose value it replaces
     * @param addedEntries 1, or 0 when it replaces one
     */
    void makeRoom(StateTable table, String without, int addedEntries, long addedBytes) {
        if (fits(table, addedEntries, addedBytes)) {
            return;
        }
        sweep();
        while (!fits(table, addedEntries, addedBytes)
                && addedBytes <= StateStore.MAX_BYTES
                && table.policy().whenFull() == StatePolicy.WhenFull.EVICT
                && table.evictEldest(without)) {
            // one entry less
        }
        requireRoom(table, addedEntries, addedBytes);
    }

    /** Refuses an addition that does not fit, under the lock. */
    void requireRoom(StateTable table, int addedEntries, long addedBytes) {
        if (!fits(table, addedEntries, addedBytes)) {
            throw new StateFullException("no room in the state of " + owner + " for " + addedBytes + " bytes more in "
                    + table.name() + ": it has " + entries + " of at most " + StateStore.MAX_ENTRIES + " entries, and "
                    + bytes + " of at most " + StateStore.MAX_BYTES + " bytes"
                    + (table.isKept() ? "; " + kept.room() : ""));
        }
    }

    private boolean fits(StateTable table, int addedEntries, long addedBytes) {
        return entries + addedEntries <= StateStore.MAX_ENTRIES
                && bytes + addedBytes <= StateStore.MAX_BYTES
                && (!table.isKept() || kept.fits(addedBytes));
    }

    /** Counts entries and bytes that were added or removed, under the lock. */
    void count(int addedEntries, long addedBytes) {
        entries += addedEntries;
        bytes += addedBytes;
    }
}
