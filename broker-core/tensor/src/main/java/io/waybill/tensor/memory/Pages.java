package io.waybill.tensor.memory;

/** Pages: the unit in which the kernel maps memory, and in which regions are allocated. */
public final class Pages {

    public static final long SIZE = 4096;

    private Pages() {}

    /** Returns the start of the next page, from 0 up to 2^63 - 4096. */
    public static long roundUp(long bytes) {
        return bytes + (SIZE - 1) & -SIZE;
    }
}
