package io.waybill.broker;

import io.waybill.api.Value;
import io.waybill.api.state.StateEntry;
import io.waybill.api.state.StateStore;
import io.waybill.api.state.StateUsage;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.function.BiConsumer;
import java.util.function.Function;

/** Store, for one version of its owner, until its broker is revoked. Thread-safe. */
final class OwnedState implements StateStore {

    /**
     * Max attempts of an update. No contention is as high; a function that changes the key itself would continue
     * indefinitely.
     */
    private static final int MAX_ATTEMPTS = 10_000;

    private final OwnedBroker broker;
    private final StateTable table;

    OwnedState(OwnedBroker broker, StateTable table) {
        this.broker = broker;
        this.table = table;
    }

    private StateTable open(String key) {
        if (key.isEmpty() || key.length() > MAX_KEY_LENGTH) {
            throw new IllegalArgumentException(
                    "a key is 1 to " + MAX_KEY_LENGTH + " characters, and this one is " + key.length());
        }
        return open();
    }

    private StateTable open() {
        broker.requireOpen();
        return table;
    }

    @Override
    public String name() {
        return table.name();
    }

    @Override
    public Optional<Value> get(String key) {
        return Optional.ofNullable(open(key).read(key)).map(cell -> cell.value);
    }

    @Override
    public void put(String key, Value value) {
        open(key).write(key, before -> true, StateValues.copy(value));
    }

    @Override
    public boolean putIfAbsent(String key, Value value) {
        return open(key).write(key, before -> before == null, StateValues.copy(value));
    }

    @Override
    public boolean compareAndSet(String key, Value expected, Value value) {
        Value known = StateValues.copy(expected); // which limits its depth
        return open(key).write(key, before -> before != null && before.value.equals(known), StateValues.copy(value));
    }

    @Override
    public Optional<Value> compute(String key, Function<Optional<Value>, Optional<Value>> function) {
        Objects.requireNonNull(function);
        for (int attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
            StateCell seen = open(key).read(key);
            Optional<Value> made = function.apply(Optional.ofNullable(seen).map(cell -> cell.value));
            Value value = made.map(StateValues::copy).orElse(null);
            if (open(key).write(key, before -> before == seen, value)) {
                return Optional.ofNullable(value);
            }
        }
        throw new IllegalStateException("the value of " + key + " has changed in each of " + MAX_ATTEMPTS
                + " attempts to compute it: the function may change it itself");
    }

    @Override
    public boolean remove(String key) {
        return open(key).write(key, before -> before != null, null);
    }

    @Override
    public boolean remove(String key, Value expected) {
        Value known = StateValues.copy(expected);
        return open(key).write(key, before -> before != null && before.value.equals(known), null);
    }

    @Override
    public int clear() {
        return open().clear();
    }

    @Override
    public int evictIdle(Duration idle) {
        return open().dropIdle(idle);
    }

    @Override
    public List<StateEntry> entries(String prefix) {
        return open().entries(prefix);
    }

    @Override
    public void forEach(String prefix, BiConsumer<String, Value> action) {
        open().values(prefix).forEach(Objects.requireNonNull(action));
    }

    @Override
    public void sync() {
        open().sync();
    }

    @Override
    public StateUsage usage() {
        return open().usage();
    }
}
