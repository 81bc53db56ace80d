package io.waybill.api.state;

import io.waybill.api.Value;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import org.osgi.annotation.versioning.ProviderType;

/**
 * A map from texts to values that the worker holds for a bundle. The next version of the bundle finds what the previous one put there. It
 * ends with the worker's process, unless its {@link StatePolicy} keeps it on disk.
 *
 * <p>A value is made of numbers, texts, bytes, lists, tuples, dicts, devices and dtypes. Tensors and references are refused: their lifetime would
 * have to be counted on every read. So no object of a class of the bundle's can get in, which would keep the bundle's class loader.
 *
 * <p><b>Owner.</b> A bundle sees its own stores alone, by its symbolic name. All stores of a bundle share {@value #MAX_ENTRIES} entries
 * and {@value #MAX_BYTES} bytes, as {@link StateEntry#bytes} counts them.
 *
 * <p><b>Threads.</b> Thread-safe; each method is atomic. <b>Errors.</b> All methods throw {@link IllegalStateException} when the broker that gave the store
 * was revoked, and {@link IllegalArgumentException} for a key that is not 1 to {@value #MAX_KEY_LENGTH} characters. Those that take a value to store
 * throw {@link IllegalArgumentException} for one with a tensor, a reference, or more than {@value #MAX_DEPTH} levels, and
 * {@link StateFullException} when there is no room.
 */
@ProviderType
public interface StateStore {

    /** Max number of entries of an owner. */
    int MAX_ENTRIES = 100_000;
    /** Max bytes of an owner. */
    long MAX_BYTES = 64L << 20;
    /** Max number of stores of an owner. */
    int MAX_STORES = 256;
    /** Max characters of a key. */
    int MAX_KEY_LENGTH = 256;
    /** Max depth of nested lists, tuples and dicts. */
    int MAX_DEPTH = 32;

    /** Returns the store's name. */
    String name();

    /** Returns the value of a key. Counts as a use for {@link StatePolicy#maxIdle} and eviction. */
    Optional<Value> get(String key);

    /** Sets the value of a key. */
    void put(String key, Value value);

    /** Sets the value of a key that has none. Returns whether it had none. */
    boolean putIfAbsent(String key, Value value);

    /** Sets the value of a key whose value equals the expected one. Returns whether it did. */
    boolean compareAndSet(String key, Value expected, Value value);

    /**
     * Replaces the value of a key by the one that a function makes of it; empty for none. The function is called on the calling thread, outside of
     * any lock, and once more when the value has changed meanwhile. What it throws is thrown, and nothing is changed. It must not
     * change the key itself.
     *
     * @return the new value
     * @throws IllegalStateException also when the value has changed in each of 10,000 attempts
     */
    Optional<Value> compute(String key, Function<Optional<Value>, Optional<Value>> function);

    /** Removes a key. Returns whether it had a value. */
    boolean remove(String key);

    /** Removes a key whose value equals the expected one. Returns whether it did. */
    boolean remove(String key, Value expected);

    /** Removes all entries. Returns how many there were. */
    int clear();

    /** Removes the entries that no thread has used for so long. Returns how many there were. */
    int evictIdle(Duration idle);

    /** Returns the entries whose key begins with a text, least recently used first. Counts as no use. */
    List<StateEntry> entries(String prefix);

    /** Returns how much there is in this store. */
    StateUsage usage();
}
