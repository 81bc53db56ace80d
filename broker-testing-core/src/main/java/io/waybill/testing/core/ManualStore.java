package io.waybill.testing.core;

import io.waybill.api.Value;
import io.waybill.api.state.StateEntry;
import io.waybill.api.state.StatePolicy;
import io.waybill.api.state.StateStore;
import io.waybill.api.state.StateUsage;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.function.BiConsumer;
import java.util.function.Function;
import java.util.function.Predicate;

/**
 * A store whose time is that of a {@link ManualBroker}. It removes entries by age and idle time according to its
 * policy. It has no limits, accepts every value and counts no bytes, unlike a worker's. For one thread.
 */
final class ManualStore implements StateStore {

    private final String name;
    private final ManualBroker broker;
    private final Map<String, Cell> cells = new LinkedHashMap<>(16, 0.75f, true); // least recently used first
    private StatePolicy policy = StatePolicy.KEEP;
    private long evicted;

    /** A value with the times of the broker. */
    private static final class Cell {
        final Value value;
        final Duration set;
        Duration used;

        Cell(Value value, Duration now) {
            this.value = value;
            this.set = now;
            this.used = now;
        }
    }

    ManualStore(String name, ManualBroker broker) {
        this.name = name;
        this.broker = broker;
    }

    void policy(StatePolicy other) {
        policy = Objects.requireNonNull(other);
    }

    private Duration since(Duration time) {
        return broker.elapsed().minus(time);
    }

    private void sweep() {
        broker.requireOpen();
        int before = cells.size();
        cells.values().removeIf(cell -> isPast(policy.maxAge(), cell.set) || isPast(policy.maxIdle(), cell.used));
        evicted += before - cells.size();
    }

    private boolean isPast(Duration limit, Duration time) {
        return !limit.isZero() && since(time).compareTo(limit) >= 0;
    }

    private Map<String, Cell> of(String key) {
        if (key.isEmpty() || key.length() > MAX_KEY_LENGTH) {
            throw new IllegalArgumentException("a key is 1 to " + MAX_KEY_LENGTH + " characters: " + key.length());
        }
        sweep();
        return cells;
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public Optional<Value> get(String key) {
        Cell cell = of(key).get(key);
        if (cell == null) {
            return Optional.empty();
        }
        cell.used = broker.elapsed();
        return Optional.of(cell.value);
    }

    @Override
    public void put(String key, Value value) {
        of(key).put(key, new Cell(Objects.requireNonNull(value), broker.elapsed()));
    }

    @Override
    public boolean putIfAbsent(String key, Value value) {
        return of(key).putIfAbsent(key, new Cell(Objects.requireNonNull(value), broker.elapsed())) == null;
    }

    @Override
    public boolean compareAndSet(String key, Value expected, Value value) {
        boolean isExpected = holds(key, expected);
        if (isExpected) {
            put(key, value);
        }
        return isExpected;
    }

    private boolean holds(String key, Value expected) {
        Cell cell = of(key).get(key);
        return cell != null && cell.value.equals(expected);
    }

    @Override
    public Optional<Value> compute(String key, Function<Optional<Value>, Optional<Value>> function) {
        Optional<Value> made = function.apply(get(key));
        if (made.isPresent()) {
            put(key, made.get());
        } else {
            remove(key);
        }
        return made;
    }

    @Override
    public boolean remove(String key) {
        return of(key).remove(key) != null;
    }

    @Override
    public boolean remove(String key, Value expected) {
        return holds(key, expected) && remove(key);
    }

    @Override
    public int clear() {
        return removeIf(cell -> true);
    }

    @Override
    public int evictIdle(Duration idle) {
        return removeIf(cell -> since(cell.used).compareTo(idle) >= 0);
    }

    private int removeIf(Predicate<Cell> isOver) {
        sweep();
        int before = cells.size();
        cells.values().removeIf(isOver);
        return before - cells.size();
    }

    @Override
    public List<StateEntry> entries(String prefix) {
        sweep();
        List<StateEntry> entries = new ArrayList<>();
        cells.forEach((key, cell) -> {
            if (key.startsWith(prefix)) {
                entries.add(new StateEntry(key, 0, since(cell.set), since(cell.used)));
            }
        });
        return entries;
    }

    @Override
    public void forEach(String prefix, BiConsumer<String, Value> action) {
        sweep();
        new LinkedHashMap<>(cells).forEach((key, cell) -> {
            if (key.startsWith(prefix)) {
                action.accept(key, cell.value);
            }
        });
    }

    @Override
    public void sync() {
        broker.requireOpen();
        if (policy.lifetime() != StatePolicy.Lifetime.ON_DISK) {
            throw new IllegalStateException(
                    "the store " + name + " ends with the worker: expected StatePolicy.onDisk() to sync it");
        }
    }

    @Override
    public StateUsage usage() {
        sweep();
        return new StateUsage(cells.size(), 0, evicted);
    }
}
