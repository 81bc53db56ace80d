package io.waybill.tensor.memory;

/** The unit in which the kernel maps memory, and in which regions are handed out. */
public final class Pages {

    public static final long SIZE = 4096;

    private Pages() {}

    /** The next page's start, from 0 up to 2^63 - 4096. */
    public static long roundUp(long bytes) {
        return bytes + (SIZE - 1) & -SIZE;
    }
}
