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
 * Waits for SIGTERM or SIGINT, and then lets the command end by itself and with its own exit code, within a limit. The JVM's own shutdown
 * begins only after that, so that the command can do all that it does otherwise.
 *
 * <p><b>Threads.</b> One installs, awaits and closes it; each signal arrives on a thread of its own.
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

    /** Whether it is time to stop. Any thread. */
    public boolean isAsked() {
        return asked.getCount() == 0;
    }

    /** Also stops when a stream ends. */
    public void onEndOf(InputStream stream, Threads threads) {
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
