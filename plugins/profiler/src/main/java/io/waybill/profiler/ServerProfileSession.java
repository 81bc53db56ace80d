package io.waybill.profiler;

import io.waybill.profiler.profile.Profile;
import org.osgi.annotation.versioning.ProviderType;

/**
 * A server-wide profile that is recorded.
 *
 * <p><b>Threads.</b> Any.
 */
@ProviderType
public interface ServerProfileSession extends AutoCloseable {

    /** Returns what it has so far. */
    Profile profile();

    /** Ends it, and returns the profile; the same one when it had ended. */
    Profile end();

    /** Ends it. */
    @Override
    default void close() {
        end();
    }
}
