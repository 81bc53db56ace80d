package io.waybill.metrics.otlp;

import io.waybill.metrics.otlp.OtlpClient.Outcome;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.IntFunction;
import java.util.function.LongFunction;

/**
 * Exporter of spans and metrics to a receiver of OTLP, such as the OpenTelemetry Collector, with {@code http/protobuf}.
 *
 * <p>A request that the receiver does not accept is repeated twice; then its content is dropped and counted.
 *
 * <p><b>Threads.</b> One separate thread.
 */
public final class OtlpExporter implements AutoCloseable {

    private static final Logger LOG = System.getLogger(OtlpExporter.class.getName());
    private static final int MAX_SPANS = 512; // per request
    private static final int ATTEMPTS = 3;
    private static final long PAUSE_MS = 1000;
    private static final long WAIT_MS = 1000;
    private static final long END_MS = 10_000;

    private final OtlpClient client;
    private final URI endpoint;
    private final OtlpResource resource;
    private final IntFunction<String> names;
    private final CallSpans spans;
    private final LongFunction<byte[]> metrics;
    private final long intervalNs;
    private final AtomicLong sent = new AtomicLong();
    private final Thread thread;
    private boolean failing; // owned by the thread
    private volatile boolean closed; // set by close, read by the thread

    /**
     * Starts exporting.
     *
     * @param names of workers, by id
     * @param spans null for none
     * @param metrics function from a wall-clock time in ns to an encoded request; null for none
     */
    public OtlpExporter(
            Target target,
            OtlpResource resource,
            IntFunction<String> names,
            CallSpans spans,
            LongFunction<byte[]> metrics) {
        this.endpoint = target.endpoint();
        this.client = new OtlpClient(target.endpoint(), target.headers());
        this.intervalNs = target.interval().toNanos();
        this.resource = resource;
        this.names = names;
        this.spans = spans;
        this.metrics = metrics;
        this.thread = new Thread(this::run, "waybill-otlp");
        thread.setDaemon(true);
        thread.start();
    }

    /**
     * Receiver and interval of an export.
     *
     * @param endpoint without the path of a signal
     * @param interval between two requests with metrics
     */
    public record Target(URI endpoint, Map<String, String> headers, Duration interval) {}

    private void run() {
        long dueNs = System.nanoTime();
        while (!closed) {
            try {
                exportSpans(WAIT_MS);
                if (metrics != null && System.nanoTime() - dueNs >= 0) {
                    dueNs = System.nanoTime() + intervalNs;
                    exportMetrics();
                }
            } catch (InterruptedException e) { // an interrupt by close; any other one has another purpose
                LOG.log(Level.DEBUG, "The export to {0} was interrupted", endpoint);
            } catch (Throwable e) { // after any failure, the next one may succeed
                report("it failed with " + e);
                LOG.log(Level.DEBUG, "Export failed", e);
                rest();
            }
        }
        Thread.interrupted(); // closed: the remaining spans are still sent
        exportRest();
    }

    private static void rest() {
        try {
            TimeUnit.MILLISECONDS.sleep(PAUSE_MS);
        } catch (InterruptedException e) {
            LOG.log(Level.DEBUG, "A rest was interrupted", e);
        }
    }

    private void exportRest() {
        try {
            long untilNs = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(END_MS / 2);
            while (System.nanoTime() - untilNs < 0 && exportSpans(0) > 0) {
                // until none is left
            }
            if (metrics != null) {
                exportMetrics();
            }
        } catch (InterruptedException e) {
            LOG.log(Level.DEBUG, "The last export to {0} was interrupted", endpoint);
        } catch (RuntimeException e) {
            report("the last one failed with " + e);
        }
    }

    /** Exports spans; returns their number. */
    private int exportSpans(long waitMs) throws InterruptedException {
        if (spans == null) {
            TimeUnit.MILLISECONDS.sleep(waitMs);
            return 0;
        }
        List<ExportedSpan> batch = new ArrayList<>();
        spans.take(batch, MAX_SPANS, waitMs);
        if (batch.isEmpty()) {
            spans.forgetOld(TimeUnit.MILLISECONDS.toNanos(System.currentTimeMillis()));
            return 0;
        }
        boolean taken = false;
        try {
            taken = deliver("/v1/traces", TraceRequest.encode(resource, batch, names));
        } finally {
            if (taken) {
                sent.addAndGet(batch.size());
            } else {
                spans.drop(batch.size());
            }
        }
        return batch.size();
    }

    private void exportMetrics() throws InterruptedException {
        byte[] request;
        try {
            request = metrics.apply(TimeUnit.MILLISECONDS.toNanos(System.currentTimeMillis()));
        } catch (RuntimeException e) { // the home may be unreadable now, and readable later
            report("the figures can't be read: " + e.getMessage());
            return;
        }
        deliver("/v1/metrics", request);
    }

    /** Sends a request; returns whether the receiver accepted it. */
    private boolean deliver(String path, byte[] request) throws InterruptedException {
        for (int attempt = 1; ; attempt++) {
            StringBuilder why = new StringBuilder();
            Outcome outcome = client.send(path, request, why);
            if (outcome == Outcome.TAKEN) {
                if (failing) {
                    failing = false;
                    LOG.log(Level.INFO, "{0} takes metrics and traces again", endpoint);
                }
                return true;
            }
            if (outcome == Outcome.REFUSED || attempt == ATTEMPTS || closed) {
                report("a request to " + path + " was not taken, and is dropped: " + why);
                return false;
            }
            TimeUnit.MILLISECONDS.sleep(PAUSE_MS * attempt);
        }
    }

    /** Reports the first of a series of failures. */
    private void report(String why) {
        if (!failing) {
            failing = true;
            LOG.log(Level.WARNING, "Export to {0}: {1}", endpoint, why);
        }
    }

    /** Returns the number of spans that the receiver accepted. */
    public long sent() {
        return sent.get();
    }

    /** Stops the export, after one attempt to send the rest. */
    @Override
    public void close() {
        closed = true;
        thread.interrupt();
        try {
            thread.join(END_MS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
