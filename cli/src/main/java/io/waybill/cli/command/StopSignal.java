package io.waybill.cli.command;

import io.waybill.host.Threads;
import java.io.IOException;
import java.io.InputStream;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * Waits for SIGTERM or SIGINT, and then lets the command end by itself and with its own exit code, within a limit.
 *
 * <p><b>Threads.</b> One installs, awaits and closes it; signals arrive on another.
 */
public final class StopSignal implements AutoCloseable {

    private static final Duration LIMIT = Duration.ofSeconds(60);

    private final Threads threads;
    private final Duration limit;
    private final CountDownLatch asked = new CountDownLatch(1);
    private final CountDownLatch ended = new CountDownLatch(1);

    private StopSignal(Threads threads, Duration limit) {
        this.threads = threads;
        this.limit = limit;
    }

    public static StopSignal install(Threads threads) {
        return install(threads, LIMIT);
    }

    public static StopSignal install(Threads threads, Duration limit) {
        StopSignal signal = new StopSignal(threads, limit);
        Runtime.getRuntime().addShutdownHook(new Thread(signal::onShutdown, "waybill-stop"));
        return signal;
    }

    /** Blocks the JVM's end until the command has ended. */
    private void onShutdown() {
        if (ended.getCount() == 0) {
            return; // by itself: its exit code counts
        }
        asked.countDown();
        try {
            // a JVM that is stopped by a signal would exit with 143: only halting here sets another code
            boolean inTime = ended.await(limit.toNanos(), TimeUnit.NANOSECONDS);
            Runtime.getRuntime().halt(inTime ? 0 : ErrorLines.FAILED);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Also stops when a stream ends. */
    public void onEndOf(InputStream stream) {
        threads.start("waybill-stdin", () -> {
            try {
                while (stream.read() >= 0) {
                    continue; // nothing is reported there
                }
            } catch (IOException e) {
                // as good as its end
            }
            asked.countDown();
        });
    }

    /** Stops without a signal. */
    public void ask() {
        asked.countDown();
    }

    /** Returns when it is time to stop. */
    public void await() {
        try {
            asked.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** The command has ended what it had to end. */
    @Override
    public void close() {
        ended.countDown();
    }
}
