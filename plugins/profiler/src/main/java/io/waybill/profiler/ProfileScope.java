package io.waybill.profiler;

import java.util.concurrent.CompletableFuture;
import org.osgi.annotation.versioning.ProviderType;

/**
 * A part of a computation that has a name of its own in a profile.
 *
 * <p><b>Threads.</b> Closed by the thread that opened it, unless a future ends it.
 */
@ProviderType
public interface ProfileScope extends AutoCloseable {

    /**
     * Ends the scope when a future completes, in place of {@link #close}, which then only ends that calls of this thread belong to it.
     *
     * @return completes after the scope, with the result of the future
     * @throws IllegalStateException when this was called before
     */
    <T> CompletableFuture<T> endWith(CompletableFuture<T> future);

    /** Ends the scope. Does nothing when repeated. */
    @Override
    void close();
}
