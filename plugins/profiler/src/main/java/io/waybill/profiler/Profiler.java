package io.waybill.profiler;

import io.waybill.profiler.profile.Profile;
import io.waybill.profiler.profile.ProfilerConfig;
import org.osgi.annotation.versioning.ProviderType;

/**
 * Profiles calls, as {@code torch.autograd.profiler.profile} does: a profile has the calls that a thread makes meanwhile, and what they cause in
 * their callees, in the callees of those, and so on. Every worker that they reach needs the profiler.
 *
 * <pre>{@code
 * Profile profile = profiler.profile(ProfilerConfig.cpu(), () -> {
 *     rpc.rpcSync("worker1", new Invocation("aten::add", List.of(x, y), Map.of())).close();
 * });
 * }</pre>
 *
 * <p><b>Threads.</b> Any. A profile belongs to the thread that records it, to the handlers of its calls, and to code that has their
 * {@link io.waybill.api.context.CallContext}.
 */
@ProviderType
public interface Profiler {

    /** What is profiled. */
    @FunctionalInterface
    interface Body<E extends Exception> {

        void run() throws E;
    }

    /**
     * Profiles what a body does. If it throws, its profile is lost: {@link #begin} keeps it. Calls that are in flight at the end are in the profile as unfinished
     * ones.
     */
    default <E extends Exception> Profile profile(ProfilerConfig config, Body<E> body) throws E {
        try (ProfileSession session = begin(config)) {
            body.run();
            return session.end();
        }
    }

    /** Begins to profile what this thread does, until the session is ended. A session within another one takes its calls from that one. */
    ProfileSession begin(ProfilerConfig config);

    /**
     * Begins to profile all requests that this worker serves, from any caller, until the session is ended: the server-wide profiler, as
     * {@code _server_process_global_profile} of PyTorch. A request is in it when it began and ended within; in each session that is open then. Callees of
     * its handler's calls record nothing.
     */
    ServerProfileSession beginServerProcessGlobal(ProfilerConfig config);

    /**
     * Opens a scope in the profile of this thread; without one, it is not recorded.
     *
     * @param name in the profile
     */
    ProfileScope scope(String name);
}
