package io.waybill.bench;

import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.bench.call.EchoServer;
import io.waybill.bench.measure.EchoHandler;
import io.waybill.bench.measure.Figures;
import io.waybill.bench.measure.Percentiles;
import io.waybill.bench.process.ChildProcess;
import io.waybill.bench.process.Children;
import io.waybill.worker.Worker;
import io.waybill.worker.WorkerSettings;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import org.HdrHistogram.Histogram;

/**
 * {@code bench idle}: what a node with nothing to do takes of a core, in the default way of waiting, and how long the
 * first call after a rest takes, beside what the host takes to wake a resting process through a pipe: half of that
 * before the calls, half after.
 *
 * @param seconds of rest over which the processor time is taken
 * @param tries calls, each after a rest
 */
public record Idle(int seconds, int tries, BenchDistribution distribution) {

    static final String ROLE = "idle-client";

    private static final long STABLE_NS = 5_000_000_000L;
    static final long REST_NS = 100_000_000L;

    public Figures run(Consumer<String> progress) throws IOException {
        try (Children children = new Children()) {
            Path home = children.directory().resolve("home");
            Children.Child node = distribution.startNode(children, home, BenchDistribution.ALL_LEVELS);
            Children.Child server = children.start(EchoServer.ROLE, home, "BALANCED", EchoHandler.EMPTY.argument());
            progress.accept("the node rests for " + seconds + " s");
            rest(STABLE_NS); // what starting left to do
            Duration before = node.processorTime();
            long startNs = System.nanoTime();
            rest(TimeUnit.SECONDS.toNanos(seconds));
            double share = (double) node.processorTime().minus(before).toNanos() / (System.nanoTime() - startNs);
            progress.accept(tries + " calls and as many bytes through a pipe, each after a rest");
            Histogram raw = new Histogram(TimeUnit.SECONDS.toNanos(10), 3);
            Figures first;
            try (RestedPipe pipe = new RestedPipe(children)) {
                pipe.time(tries / 2, raw);
                Children.Child client = children.start(ROLE, home, tries);
                first = client.figures();
                children.stop(client);
                pipe.time(tries - tries / 2, raw);
            }
            children.stop(server);
            Figures pipe = Percentiles.of(raw);
            return new Figures()
                    .put("idle_seconds", seconds)
                    .put("cores", share)
                    .put("tries", tries)
                    .put("first_call_p50_ns", first.integer("p50_ns"))
                    .put("first_call_p99_ns", first.integer("p99_ns"))
                    .put("raw_wake_p50_ns", pipe.integer("p50_ns"))
                    .put("raw_wake_p99_ns", pipe.integer("p99_ns"));
        }
    }

    static void rest(long ns) {
        long untilNs = System.nanoTime() + ns;
        for (long left = ns; left > 0; left = untilNs - System.nanoTime()) {
            LockSupport.parkNanos(left);
        }
    }

    /** Arguments: home, tries. */
    static void client(String[] arguments) throws Exception {
        int tries = Integer.parseInt(arguments[1]);
        try (Worker worker = EchoServer.joinCaller(arguments[0], WorkerSettings.defaults())) {
            ChildProcess.ready();
            Request request =
                    Request.raw(EchoServer.NAME, MessageType.userRequest(0x42), ByteBuffer.allocate(64), List.of());
            for (int i = 0; i < 20_000; i++) {
                worker.call(request);
            }
            Histogram times = new Histogram(TimeUnit.SECONDS.toNanos(10), 3);
            for (int i = 0; i < tries; i++) {
                rest(REST_NS);
                long startNs = System.nanoTime();
                worker.call(request);
                times.recordValue(System.nanoTime() - startNs);
            }
            ChildProcess.report(Percentiles.of(times));
            ChildProcess.awaitEnd();
        }
    }

    /**
     * Time that the host needs to wake a resting process: a byte through a pipe to a process that blocks on it, and a
     * byte back to this one, which polls for it, like a caller.
     */
    static final class RestedPipe implements AutoCloseable {

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

        /** Times the given number of round trips, each after a rest. */
        void time(int tries, Histogram times) throws IOException {
            for (int i = 0; i < tries; i++) {
                rest(REST_NS);
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

        /** Runs the other side: sends every byte back until its standard input ends. */
        static void echo(String[] arguments) throws IOException {
            ChildProcess.ready();
            for (int read = System.in.read(); read >= 0; read = System.in.read()) {
                System.out.write(read);
                System.out.flush();
            }
        }
    }
}
