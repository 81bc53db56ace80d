package io.waybill.profiler;

import io.waybill.profiler.profile.Profile;
import org.osgi.annotation.versioning.ProviderType;

/**
 * Recording of a server-wide profile.
 *
 * <p><b>Threads.</b> Any.
 */
@ProviderType
public interface ServerProfileSession extends AutoCloseable {

    /** Returns the profile so far. */
    Profile profile();

    /** Ends the recording, and returns the profile; a repeated call returns the same profile. */
    Profile end();

    /** Ends the recording. */
    @Override
    default void close() {
        end();
    }
}
