package io.waybill.handling;

/**
 * How many interceptors of calls each thread is inside of: the calls that it makes there are not intercepted.
 *
 * <p><b>Threads.</b> Any; each sees its own depth.
 */
public final class InterceptorDepth {

    private final ThreadLocal<int[]> depths = ThreadLocal.withInitial(() -> new int[1]);

    /** Returns whether the calling thread is inside an interceptor. */
    public boolean isInside() {
        return depths.get()[0] > 0;
    }

    /** Enters an interceptor. Returns what the same thread leaves it with. */
    int[] enter() {
        int[] own = depths.get();
        own[0]++;
        return own;
    }

    static void leave(int[] own) {
        own[0]--;
    }
}
