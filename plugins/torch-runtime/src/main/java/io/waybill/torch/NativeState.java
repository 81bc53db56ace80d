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
 * Keeps native state of bundles while they are updated: a version that leaves puts its live objects here, and the next one takes them.
 *
 * <p>Only objects whose classes belong to this bundle or to {@code broker-api} are kept, because this bundle is never replaced in a running node:
 * they keep no class loader of the version that left. State that no version takes stays until the node ends.
 *
 * <p><b>Threads.</b> Any. <b>Ownership.</b> Of everything that is put; {@link #take} hands it over.
 */
@Component(service = NativeState.class, immediate = true) // else it would end with its only user, which leaves
public final class NativeState {

    /** Max entries of all bundles. */
    public static final int MAX_ENTRIES = 100_000;

    private final Map<String, Entry> entries = new ConcurrentHashMap<>();

    /**
     * What a bundle keeps under a name.
     *
     * @param about plain values that describe the rest; without tensors and references
     * @param natives libtorch's objects, each with a reference that goes with them; null where there is none
     * @param tensors of messages
     * @param handles each with a count that goes with them
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
     * @param name begins with the bundle's symbolic name
     * @throws IllegalStateException when the name is taken, or there are {@value #MAX_ENTRIES}; the entry stays the caller's
     */
    public void put(String name, Entry entry) {
        if (entries.size() >= MAX_ENTRIES) {
            throw new IllegalStateException("native state has at most " + MAX_ENTRIES + " entries");
        }
        if (entries.putIfAbsent(name, entry) != null) {
            throw new IllegalStateException("native state has an entry " + name);
        }
    }

    /** Takes an entry out; empty when there is none. */
    public Optional<Entry> take(String name) {
        return Optional.ofNullable(entries.remove(name));
    }

    /** Returns the names that begin so. */
    public List<String> names(String prefix) {
        return entries.keySet().stream()
                .filter(name -> name.startsWith(prefix))
                .sorted()
                .toList();
    }
}
