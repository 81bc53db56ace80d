package io.waybill.profiler;

import io.waybill.profiler.profile.Profile;
import org.osgi.annotation.versioning.ProviderType;

/**
 * Recording of a profile.
 *
 * <p><b>Threads.</b> Begun and ended by one thread.
 */
@ProviderType
public interface ProfileSession extends AutoCloseable {

    /** Ends the recording, and returns its profile; a repeated call returns the same profile. */
    Profile end();

    /** Ends the recording. */
    @Override
    void close();
}
