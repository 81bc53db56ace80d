package io.waybill.profiler;

import java.util.concurrent.CompletableFuture;
import org.osgi.annotation.versioning.ProviderType;

/**
 * Named part of a computation in a profile.
 *
 * <p><b>Threads.</b> Closed by the thread that opened it, unless a future ends it.
 */
@ProviderType
public interface ProfileScope extends AutoCloseable {

    /**
     * Ends the scope at the completion of a future, instead of at {@link #close}, which then only detaches this
     * thread's calls from it.
     *
     * @return a future that completes after the scope, with the result of the given one
     * @throws IllegalStateException if this method was called before
     */
    <T> CompletableFuture<T> endWith(CompletableFuture<T> future);

    /** Ends the scope. Idempotent. */
    @Override
    void close();
}
