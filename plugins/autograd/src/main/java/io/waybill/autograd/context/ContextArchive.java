package io.waybill.autograd.context;

import io.waybill.api.Value;
import io.waybill.torch.NativeState;
import io.waybill.torch.NativeTensors;
import java.util.ArrayList;
import java.util.List;

/**
 * Passes the contexts of a worker from one version of this bundle to the next, through torch-runtime, which stays
 * loaded. Stateless.
 *
 * <p><b>Threads.</b> The one that activates or deactivates the component.
 */
public final class ContextArchive {

    private static final String NAMES = "io.waybill.autograd/";
    private static final String CONTEXTS = NAMES + "context/";
    private static final String RELEASED = NAMES + "released";
    private static final String TO_RELEASE = NAMES + "to-release/";

    private ContextArchive() {}

    /** Saves all contexts, and the ids of released ones. */
    public static void save(ContextTable contexts, NativeState state) {
        contexts.handOver();
        for (AutogradContext context : contexts.all()) {
            state.put(CONTEXTS + context.id(), context.archive());
        }
        List<Value> ids = new ArrayList<>();
        contexts.releasedIds().forEach(id -> ids.add(Value.of(id)));
        state.put(RELEASED, new NativeState.Entry(new Value.Items(ids), List.of(), List.of(), List.of()));
    }

    /** Records that a context was released through the service object of a former version. */
    public static void releaseLater(long contextId, NativeState state) {
        try {
            state.put(
                    TO_RELEASE + contextId,
                    new NativeState.Entry(Value.of(contextId), List.of(), List.of(), List.of()));
        } catch (IllegalStateException e) {
            // it is already recorded; or there are too many, and it is released when its worker ends
        }
    }

    /** Removes and returns the ids of contexts that were {@linkplain #releaseLater released later}. */
    static List<Long> takeToRelease(NativeState state) {
        List<Long> ids = new ArrayList<>();
        for (String name : state.names(TO_RELEASE)) {
            state.take(name).ifPresent(entry -> ids.add(((Value.Int) entry.about()).value()));
        }
        return ids;
    }

    /** Restores the state that a former version saved. */
    public static void restore(ContextTable contexts, NativeState state, NativeTensors natives) {
        for (String name : state.names(CONTEXTS)) {
            state.take(name).ifPresent(entry -> contexts.add(AutogradContext.restored(entry, natives)));
        }
        state.take(RELEASED).ifPresent(entry -> {
            for (Value id : ((Value.Items) entry.about()).values()) {
                contexts.addReleased(((Value.Int) id).value());
            }
        });
    }
}
