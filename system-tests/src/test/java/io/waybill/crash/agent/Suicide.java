package io.waybill.crash.agent;

import java.util.concurrent.atomic.AtomicLong;
import jnr.ffi.LibraryLoader;

/** Ends this process as {@code kill -9} does, at the n-th passing of a point. Thread-safe. */
public final class Suicide {

    private static final int SIGKILL = 9;

    /** What is called of libc. */
    public interface C {
        int getpid();

        int kill(int pid, int signal);
    }

    private static final C LIBC = LibraryLoader.create(C.class).load("c");
    private static final AtomicLong LEFT = new AtomicLong(Long.MAX_VALUE);

    private Suicide() {}

    static void after(long passings) {
        LEFT.set(passings);
    }

    /** The changed code comes by. */
    public static void passed() {
        if (LEFT.decrementAndGet() == 0) {
            LIBC.kill(LIBC.getpid(), SIGKILL);
        }
    }
}
