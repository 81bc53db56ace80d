package io.waybill.bench;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import org.HdrHistogram.Histogram;

/**
 * What the host takes to wake a process that rests: a byte through a pipe to a process that blocks on it, and a byte back to this one, which
 * looks for it without blocking, as a caller does that polls for itself.
 */
final class RestedPipe implements AutoCloseable {

    static final String ROLE = "pipe-echo";

    private static final int WARM_UP = 2_000;

    private final Children children;
    private final Children.Child echo;
    private final OutputStream to;
    private final InputStream from;

    RestedPipe(Children children) throws IOException {
        this.children = children;
        this.echo = children.start(ROLE);
        this.to = echo.process().getOutputStream();
        this.from = echo.process().getInputStream();
        for (int i = 0; i < WARM_UP; i++) {
            roundTrip();
        }
    }

    /** Times so many round trips, each after a rest. */
    void time(int tries, Histogram times) throws IOException {
        for (int i = 0; i < tries; i++) {
            Idle.rest(Idle.REST_NS);
            long startNs = System.nanoTime();
            roundTrip();
            times.recordValue(System.nanoTime() - startNs);
        }
    }

    private void roundTrip() throws IOException {
        to.write('.');
        to.flush();
        while (from.available() == 0) {
            if (!echo.process().isAlive()) {
                throw new IOException("the process " + ROLE + " ended");
            }
            Thread.onSpinWait();
        }
        if (from.read() != '.') {
            throw new IOException("the process " + ROLE + " did not give the byte back");
        }
    }

    @Override
    public void close() throws IOException {
        children.stop(echo);
    }

    /** The other side: gives every byte back until its standard input ends. */
    static void echo(String[] arguments) throws IOException {
        BenchProcess.ready();
        for (int read = System.in.read(); read >= 0; read = System.in.read()) {
            System.out.write(read);
            System.out.flush();
        }
    }
}
