package io.waybill.torch;

import io.waybill.api.Value;
import io.waybill.api.tensor.Tensor;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import org.bytedeco.javacpp.Pointer;
import org.osgi.service.component.annotations.Component;

/**
 * Store of bundles' native state during updates: a version that is deactivated puts its live objects here, and the next
 * one takes them.
 *
 * <p>Only objects whose classes belong to this bundle or to {@code broker-api} are kept, because this bundle is never
 * replaced in a running node: they reference no class loader of the former version. State that no version takes stays
 * until the node exits.
 *
 * <p><b>Threads.</b> Any. <b>Ownership.</b> Owns all entries; {@link #take} transfers them.
 */
@Component(service = NativeState.class, immediate = true) // otherwise it would be deactivated with its only user
public final class NativeState {

    /** Max number of entries of all bundles. */
    public static final int MAX_ENTRIES = 100_000;

    private final Map<String, Entry> entries = new ConcurrentHashMap<>();

    /**
     * Entry that a bundle keeps under a name.
     *
     * @param about plain values that describe the other parts; without tensors and references
     * @param natives libtorch's objects, each with a reference that is transferred; null for a missing one
     * @param tensors tensors of messages
     * @param handles handles, each with a count that is transferred
     */
    public record Entry(Value about, List<Pointer> natives, List<Tensor> tensors, List<NativeTensor> handles) {

        /** Checks that the natives are libtorch's own. */
        public Entry {
            natives = Collections.unmodifiableList(new ArrayList<>(natives)); // with nulls
            tensors = List.copyOf(tensors);
            handles = List.copyOf(handles);
            for (Pointer each : natives) {
                if (each != null && each.getClass().getClassLoader() != NativeState.class.getClassLoader()) {
                    throw new IllegalArgumentException(each.getClass().getName()
                            + " is not a class of libtorch: it would keep the version of its bundle in memory");
                }
            }
        }
    }

    /**
     * Keeps an entry.
     *
     * @param name name that begins with the bundle's symbolic name
     * @throws IllegalStateException if the name is in use, or there are {@value #MAX_ENTRIES}; the caller keeps the
     *     entry
     */
    public void put(String name, Entry entry) {
        if (entries.size() >= MAX_ENTRIES) {
            throw new IllegalStateException("native state has at most " + MAX_ENTRIES + " entries");
        }
        if (entries.putIfAbsent(name, entry) != null) {
            throw new IllegalStateException("native state has an entry " + name);
        }
    }

    /** Removes and returns an entry; empty if there is none. */
    public Optional<Entry> take(String name) {
        return Optional.ofNullable(entries.remove(name));
    }

    /** Returns the names that begin with a prefix. */
    public List<String> names(String prefix) {
        return entries.keySet().stream()
                .filter(name -> name.startsWith(prefix))
                .sorted()
                .toList();
    }
}
