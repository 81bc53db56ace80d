package io.waybill.handling;

/**
 * Count of the interceptors of calls that each thread is inside of: the calls that it makes there are not intercepted.
 *
 * <p><b>Threads.</b> Any; each sees its own depth.
 */
public final class InterceptorDepth {

    private final ThreadLocal<int[]> depths = ThreadLocal.withInitial(() -> new int[1]);

    /** Returns whether the calling thread is inside an interceptor. */
    public boolean isInside() {
        return own()[0] > 0;
    }

    /** Returns the depth of the calling thread: an array of one number, which this thread alone changes. */
    public int[] own() {
        return depths.get();
    }
}
