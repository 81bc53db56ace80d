package io.waybill.broker;

import io.waybill.api.Value;
import io.waybill.api.state.StateEntry;
import io.waybill.api.state.StateFullException;
import io.waybill.api.state.StatePolicy;
import io.waybill.api.state.StateUsage;
import io.waybill.broker.file.StateRecord;
import io.waybill.host.Clock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;

/**
 * Store of an owner. It runs no code of the owner's: values are copies, built from the API's classes.
 *
 * <p><b>Threads.</b> Thread-safe; everything is guarded by the owner's state.
 */
final class StateTable {

    private final String name;
    private final OwnerState owner;
    private final Clock clock;
    private final KeptStates kept; // null if nothing is kept
    private final Map<String, StateCell> cells = new LinkedHashMap<>(16, 0.75f, true); // least recently used first
    private StatePolicy policy = StatePolicy.KEEP;
    private long bytes;
    private long evicted;
    private boolean isKept;
    private boolean isLoaded; // it was kept in this incarnation: the file has no entry that is not here
    private boolean isChanged; // since the file was written

    /** Pending changes for the file; if the store is not kept, the file is to be removed. */
    record Changes(boolean isKept, List<StateRecord> entries) {}

    StateTable(String name, OwnerState owner, Clock clock, KeptStates kept) {
        this.name = name;
        this.owner = owner;
        this.clock = clock;
        this.kept = kept;
    }

    String ownerName() {
        return owner.name();
    }

    String name() {
        return name;
    }

    StatePolicy policy() {
        synchronized (owner) {
            return policy;
        }
    }

    /**
     * Sets the policy. A store that is kept from now on gets the entries of its file; a store that is no longer kept
     * loses the file.
     *
     * @throws io.waybill.api.state.StateFileException when the file can't be used; nothing is changed
     * @throws io.waybill.api.state.StateFullException when there is no room for its content; nothing is changed
     */
    void policy(StatePolicy other) {
        boolean keeps = kept != null && other.lifetime() == StatePolicy.Lifetime.ON_DISK;
        boolean reads;
        synchronized (owner) {
            reads = keeps && !isLoaded;
        }
        List<StateRecord> stored =
                reads ? kept.read(owner.name(), name) : List.of(); // the disk may be slow: not under the lock
        synchronized (owner) {
            if (keeps && !isKept) {
                keep(stored);
            } else if (!keeps && (isKept || kept != null && !isLoaded && kept.takeUnopened(owner.name(), name))) {
                kept.count(isKept ? -bytes : 0);
                isKept = false;
                isChanged = true;
                kept.follow(this);
            }
            policy = other;
        }
    }

    /** Adds the entries of the file, except keys that are there. */
    private void keep(List<StateRecord> stored) {
        Map<String, StateCell> added = new LinkedHashMap<>();
        long addedBytes = 0;
        long nowNs = clock.monotonicNs();
        for (StateRecord entry : isLoaded ? List.<StateRecord>of() : stored) {
            if (!cells.containsKey(entry.key())) {
                long size = StateValues.bytes(entry.key(), entry.value());
                added.put(
                        entry.key(), new StateCell(entry.value(), size, nowNs - entry.ageNs(), nowNs - entry.idleNs()));
                addedBytes += size;
            }
        }
        isKept = true;
        kept.count(bytes);
        try {
            owner.requireRoom(this, added.size(), addedBytes);
        } catch (StateFullException e) {
            kept.count(-bytes);
            isKept = false;
            throw e;
        }
        isLoaded = true;
        isChanged |= !cells.isEmpty();
        cells.putAll(added);
        boolean changes = isChanged;
        count(added.size(), addedBytes);
        isChanged = changes;
        kept.follow(this);
    }

    /** Returns whether it is kept on disk. Under the lock of the owner. */
    boolean isKept() {
        return isKept;
    }

    /** Returns the changes to be written; null for none. */
    Changes takeChanges() {
        synchronized (owner) {
            if (!isChanged) {
                return null;
            }
            isChanged = false;
            List<StateRecord> entries = new ArrayList<>();
            long nowNs = clock.monotonicNs();
            if (isKept) {
                cells.forEach((key, cell) ->
                        entries.add(new StateRecord(key, cell.value, nowNs - cell.setNs, nowNs - cell.usedNs)));
            }
            return new Changes(isKept, entries);
        }
    }

    /** Notes that taken changes could not be written. */
    void markChanged() {
        synchronized (owner) {
            isChanged = true;
        }
    }

    /** Writes the pending changes, as {@link io.waybill.api.state.StateStore#sync} describes. */
    void sync() {
        if (policy().lifetime() != StatePolicy.Lifetime.ON_DISK) {
            throw new IllegalStateException("the store " + name + " of " + ownerName()
                    + " ends with the worker: expected StatePolicy.onDisk() to sync it");
        }
        if (kept != null) {
            kept.sync(this);
        }
    }

    /** Returns the cell of a key, which counts as used now; null for none. */
    StateCell read(String key) {
        synchronized (owner) {
            StateCell cell = live(key);
            if (cell != null) {
                cell.usedNs = clock.monotonicNs();
            }
            return cell;
        }
    }

    /**
     * Sets or removes the value of a key.
     *
     * @param admits condition on the present cell, or null
     * @param value a copy; null to remove
     * @return whether it was admitted
     */
    boolean write(String key, Predicate<StateCell> admits, Value value) {
        long size = value == null ? 0 : StateValues.bytes(key, value);
        synchronized (owner) {
            StateCell before = live(key);
            if (!admits.test(before)) {
                return false;
            }
            if (value == null) {
                drop(key);
            } else {
                set(key, before, new StateCell(value, size, clock.monotonicNs()));
            }
            return true;
        }
    }

    private void set(String key, StateCell before, StateCell now) {
        owner.makeRoom(this, key, before == null ? 1 : 0, now.bytes - (before == null ? 0 : before.bytes));
        StateCell replaced = cells.put(key, now); // null if the previous one has expired in the meantime
        long addedBytes = now.bytes - (replaced == null ? 0 : replaced.bytes);
        count(replaced == null ? 1 : 0, addedBytes);
    }

    private void count(int addedEntries, long addedBytes) {
        bytes += addedBytes;
        owner.count(addedEntries, addedBytes);
        if (isKept) {
            kept.count(addedBytes);
            isChanged = true;
        }
    }

    private StateCell live(String key) {
        StateCell cell = cells.get(key);
        if (cell != null && isExpired(cell, clock.monotonicNs())) {
            drop(key);
            evicted++;
            return null;
        }
        return cell;
    }

    private boolean isExpired(StateCell cell, long nowNs) {
        return isPast(policy.maxAge(), nowNs - cell.setNs) || isPast(policy.maxIdle(), nowNs - cell.usedNs);
    }

    private static boolean isPast(Duration limit, long ns) {
        return !limit.isZero() && limit.compareTo(Duration.ofNanos(ns)) <= 0;
    }

    private boolean drop(String key) {
        StateCell dropped = cells.remove(key);
        if (dropped != null) {
            count(-1, -dropped.bytes);
        }
        return dropped != null;
    }

    /** Removes expired entries. */
    void sweep() {
        synchronized (owner) {
            if (policy.maxAge().isZero() && policy.maxIdle().isZero()) {
                return;
            }
            long nowNs = clock.monotonicNs();
            evicted += dropIf(cell -> isExpired(cell, nowNs));
        }
    }

    /** Removes entries that were not used for this time. */
    int dropIdle(Duration idle) {
        synchronized (owner) {
            long nowNs = clock.monotonicNs();
            return dropIf(cell -> Duration.ofNanos(nowNs - cell.usedNs).compareTo(idle) >= 0);
        }
    }

    int clear() {
        synchronized (owner) {
            return dropIf(cell -> true);
        }
    }

    private int dropIf(Predicate<StateCell> isOver) {
        List<String> over = new ArrayList<>();
        cells.forEach((key, cell) -> {
            if (isOver.test(cell)) {
                over.add(key);
            }
        });
        over.forEach(this::drop);
        return over.size();
    }

    /** Removes the least recently used entry but for one key's. Returns whether there was one. */
    boolean evictEldest(String without) {
        synchronized (owner) {
            Iterator<String> keys = cells.keySet().iterator();
            while (keys.hasNext()) {
                String key = keys.next();
                if (!key.equals(without)) {
                    evicted++;
                    return drop(key);
                }
            }
            return false;
        }
    }

    List<StateEntry> entries(String prefix) {
        synchronized (owner) {
            sweep();
            long nowNs = clock.monotonicNs();
            List<StateEntry> entries = new ArrayList<>();
            cells.forEach((key, cell) -> {
                if (key.startsWith(prefix)) {
                    entries.add(new StateEntry(
                            key,
                            cell.bytes,
                            Duration.ofNanos(nowNs - cell.setNs),
                            Duration.ofNanos(nowNs - cell.usedNs)));
                }
            });
            return entries;
        }
    }

    /** Returns the values of the keys that begin with a prefix, least recently used first. */
    Map<String, Value> values(String prefix) {
        synchronized (owner) {
            sweep();
            Map<String, Value> values = new LinkedHashMap<>();
            cells.forEach((key, cell) -> {
                if (key.startsWith(prefix)) {
                    values.put(key, cell.value);
                }
            });
            return values;
        }
    }

    StateUsage usage() {
        synchronized (owner) {
            return new StateUsage(cells.size(), bytes, evicted);
        }
    }
}
