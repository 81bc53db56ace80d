package io.waybill.profiler;

import io.waybill.profiler.profile.Profile;
import org.osgi.annotation.versioning.ProviderType;

/**
 * A profile that is recorded.
 *
 * <p><b>Threads.</b> Begun and ended by one thread.
 */
@ProviderType
public interface ProfileSession extends AutoCloseable {

    /** Ends the recording. Returns what was recorded until now, or when it was first ended. */
    Profile end();

    /** Ends the recording. */
    @Override
    void close();
}
