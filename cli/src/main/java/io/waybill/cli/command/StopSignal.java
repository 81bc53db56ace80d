package io.waybill.cli.command;

import io.waybill.host.Threads;
import java.io.IOException;
import java.io.InputStream;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Waits for SIGTERM or SIGINT, and then lets the command finish by itself and with its own exit code, within a limit.
 * The JVM's own shutdown begins only after that, so that the command works normally until then.
 *
 * <p><b>Threads.</b> One thread installs, awaits and closes it; each signal arrives on a separate thread.
 */
public final class StopSignal implements AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(StopSignal.class);
    private static final Duration LIMIT = Duration.ofSeconds(60);

    private final Duration limit;
    private final CountDownLatch asked = new CountDownLatch(1);
    private final CountDownLatch ended = new CountDownLatch(1);

    private StopSignal(Duration limit) {
        this.limit = limit;
    }

    public static StopSignal install() {
        return install(LIMIT);
    }

    public static StopSignal install(Duration limit) {
        StopSignal signal = new StopSignal(limit);
        EndSignals.receive(number -> signal.onSignal());
        return signal;
    }

    private void onSignal() {
        asked.countDown();
        try {
            if (!ended.await(limit.toNanos(), TimeUnit.NANOSECONDS)) {
                LOG.error(
                        "The end took longer than {} s after a signal: what still runs is cut off", limit.toSeconds());
                Runtime.getRuntime().halt(ErrorLines.FAILED);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Returns whether a stop was requested. Any thread. */
    public boolean isAsked() {
        return asked.getCount() == 0;
    }

    /** Requests a stop also at the end of a stream. */
    public void onEndOf(InputStream stream, Threads threads) {
        threads.start("waybill-stdin", () -> {
            try {
                while (stream.read() >= 0) {
                    continue; // content of the stream is ignored
                }
            } catch (IOException e) {
                // treated as its end
            }
            asked.countDown();
        });
    }

    /** Requests a stop without a signal. */
    public void ask() {
        asked.countDown();
    }

    /** Waits for a request to stop. */
    public void await() {
        try {
            asked.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Confirms that the command has finished its work. */
    @Override
    public void close() {
        ended.countDown();
    }
}
