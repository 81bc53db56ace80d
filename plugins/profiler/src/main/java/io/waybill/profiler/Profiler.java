package io.waybill.profiler;

import io.waybill.profiler.profile.Profile;
import io.waybill.profiler.profile.ProfilerConfig;
import org.osgi.annotation.versioning.ProviderType;

/**
 * Profiler of calls, like {@code torch.autograd.profiler.profile}: a profile contains the calls of a thread during the
 * recording, and the events that they cause in their callees, recursively. Every worker that they reach needs the
 * profiler.
 *
 * <pre>{@code
 * Profile profile = profiler.profile(ProfilerConfig.cpu(), () -> {
 *     rpc.rpcSync("worker1", new Invocation("aten::add", List.of(x, y), Map.of())).close();
 * });
 * }</pre>
 *
 * <p><b>Threads.</b> Any. A profile belongs to the thread that records it, to the handlers of its calls, and to code
 * that has their {@link io.waybill.api.context.CallContext}.
 */
@ProviderType
public interface Profiler {

    /** Code to profile. */
    @FunctionalInterface
    interface Body<E extends Exception> {

        void run() throws E;
    }

    /**
     * Profiles a body. If the body throws, its profile is lost; use {@link #begin} to keep it. Calls that are in flight
     * at the end are in the profile as unfinished ones.
     */
    default <E extends Exception> Profile profile(ProfilerConfig config, Body<E> body) throws E {
        try (ProfileSession session = begin(config)) {
            body.run();
            return session.end();
        }
    }

    /**
     * Starts profiling this thread, until the session is ended. The calls of an inner session do not belong to the
     * outer one.
     */
    ProfileSession begin(ProfilerConfig config);

    /**
     * Starts profiling all requests that this worker serves, from any caller, until the session is ended: the
     * server-wide profiler, as {@code _server_process_global_profile} of PyTorch. A session contains the requests that
     * began and ended during it. Callees of their handlers' calls record no events.
     */
    ServerProfileSession beginServerProcessGlobal(ProfilerConfig config);

    /**
     * Opens a scope in the profile of this thread; without a profile it is not recorded.
     *
     * @param name in the profile
     */
    ProfileScope scope(String name);
}
