package io.waybill.api.state;

import io.waybill.api.Value;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.function.BiConsumer;
import java.util.function.Function;
import org.osgi.annotation.versioning.ProviderType;

/**
 * A map from strings to values that the worker holds for a bundle. The next version of the bundle finds the previous
 * version's entries. The map ends with the worker's process, unless its {@link StatePolicy} keeps it on disk.
 *
 * <p>A value is made of numbers, texts, bytes, lists, tuples, dicts, devices and dtypes. Tensors and references are
 * refused, because their lifetime would have to be counted on every read. A store therefore never holds an object of
 * the bundle's own classes, which would keep the bundle's class loader.
 *
 * <p><b>Owner.</b> A bundle has access to its own stores only, by its symbolic name. All stores of a bundle share
 * {@value #MAX_ENTRIES} entries and {@value #MAX_BYTES} bytes, as {@link StateEntry#bytes} counts them.
 *
 * <p><b>Threads.</b> Thread-safe; each method is atomic. <b>Errors.</b> All methods throw {@link IllegalStateException}
 * if the broker that returned the store was revoked, and {@link IllegalArgumentException} for a key that is not 1 to
 * {@value #MAX_KEY_LENGTH} characters. Methods that store a value throw {@link IllegalArgumentException} if it has a
 * tensor, a reference, or more than {@value #MAX_DEPTH} levels, and {@link StateFullException} if there is no room.
 */
@ProviderType
public interface StateStore {

    /** Max number of entries of an owner. */
    int MAX_ENTRIES = 100_000;
    /** Max size of the entries of an owner, in bytes. */
    long MAX_BYTES = 64L << 20;
    /** Max number of stores of an owner. */
    int MAX_STORES = 256;
    /** Max length of a key, in characters. */
    int MAX_KEY_LENGTH = 256;
    /** Max depth of nested lists, tuples and dicts. */
    int MAX_DEPTH = 32;

    /** Returns the store's name. */
    String name();

    /** Returns the value of a key. Counts as a use for {@link StatePolicy#maxIdle} and eviction. */
    Optional<Value> get(String key);

    /** Sets the value of a key. */
    void put(String key, Value value);

    /** Sets the value of a key that has none; returns whether it did. */
    boolean putIfAbsent(String key, Value value);

    /** Sets the value of a key whose value equals the expected one; returns whether it did. */
    boolean compareAndSet(String key, Value expected, Value value);

    /**
     * Replaces the value of a key with the result of a function; an empty result removes the key. The function runs on
     * the calling thread, outside of any lock, and again if the value has changed meanwhile. An exception from it is
     * thrown, and nothing is changed. It must not change the key itself.
     *
     * @return the new value
     * @throws IllegalStateException also if the value has changed during each of 10,000 attempts
     */
    Optional<Value> compute(String key, Function<Optional<Value>, Optional<Value>> function);

    /** Removes a key; returns whether it had a value. */
    boolean remove(String key);

    /** Removes a key whose value equals the expected one; returns whether it did. */
    boolean remove(String key, Value expected);

    /** Removes all entries; returns their number. */
    int clear();

    /** Removes the entries that no thread has used for the given time; returns their number. */
    int evictIdle(Duration idle);

    /** Returns the entries whose key begins with a prefix, least recently used first. Does not count as a use. */
    List<StateEntry> entries(String prefix);

    /**
     * Calls an action for each entry whose key begins with a prefix, least recently used first, with the values at the
     * time of this call. The action runs on the calling thread, outside of any lock, and may change the store. An
     * exception from it ends the iteration, and is thrown. Does not count as a use.
     */
    void forEach(String prefix, BiConsumer<String, Value> action);

    /**
     * Returns once all changes before the call are on disk: the next incarnation of the worker finds them, whatever
     * ends this one. Writes the whole store, on the calling thread, unless another thread has just done so: for
     * acknowledgements, not for each change of a large store. In a replay there is no disk, and it returns immediately.
     *
     * @throws IllegalStateException also if the store is not {@linkplain StatePolicy#onDisk() on disk}
     * @throws StateFileException if the store can't be written; the changes stay in memory, and the worker tries again
     */
    void sync();

    /** Returns the number and size of this store's entries. */
    StateUsage usage();
}
