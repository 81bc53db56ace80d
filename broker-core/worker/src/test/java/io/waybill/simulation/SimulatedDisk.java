package io.waybill.simulation;

import io.waybill.host.SimulatedProcess;
import java.util.Random;
import java.util.Set;
import jnr.constants.platform.Errno;

/** A disk that is full, or broken, from time to time. <b>Threads.</b> The simulation's. */
final class SimulatedDisk implements SimulatedProcess.Disk {

    private static final int ONE_IN = 3;
    private static final Set<String> TAKING_SPACE = Set.of("fallocate", "pwrite", "mkdirat", "symlinkat");
    private static final Set<String> CONTENT =
            Set.of("openat", "pread", "pwrite", "ftruncate", "renameat2", "unlinkat");

    /** What is wrong. */
    enum Trouble {
        NONE,
        /** Nothing more can be reserved or written. */
        FULL,
        /** Some calls fail. */
        BROKEN
    }

    private final Random random;
    private Trouble trouble = Trouble.NONE;
    private long failed;

    SimulatedDisk(Random random) {
        this.random = random;
    }

    void trouble(Trouble next) {
        trouble = next;
    }

    /** Returns how many calls have failed. */
    long failed() {
        return failed;
    }

    @Override
    public Errno failure(String call) {
        boolean fails = switch (trouble) {
            case NONE -> false;
            case FULL -> TAKING_SPACE.contains(call);
            case BROKEN -> CONTENT.contains(call) && random.nextInt(ONE_IN) == 0;
        };
        if (!fails) {
            return null;
        }
        failed++;
        return trouble == Trouble.FULL ? Errno.ENOSPC : Errno.EIO;
    }
}
