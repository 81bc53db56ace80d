package io.waybill.metrics.otlp;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.opentelemetry.proto.collector.metrics.v1.ExportMetricsServiceRequest;
import io.opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest;
import io.opentelemetry.proto.metrics.v1.Metric;
import io.opentelemetry.proto.trace.v1.Span;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;

/**
 * A receiver of OTLP over HTTP, which parses what it gets with the protocol's own classes.
 *
 * <p><b>Threads.</b> One of its own.
 */
public final class OtlpReceiver implements AutoCloseable {

    private final HttpServer server;
    private final List<ExportTraceServiceRequest> traces = new CopyOnWriteArrayList<>();
    private final List<ExportMetricsServiceRequest> metrics = new CopyOnWriteArrayList<>();
    private final List<String> wrong = new CopyOnWriteArrayList<>();
    private final CountDownLatch hang = new CountDownLatch(1);
    private volatile int status = 200; // by the test, for the server
    private volatile boolean hanging; // by the test, for the server

    public OtlpReceiver() throws IOException {
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext("/", this::take);
        server.start();
    }

    public URI endpoint() {
        return URI.create("http://127.0.0.1:" + server.getAddress().getPort());
    }

    /** Responds with another status from now on. */
    public void status(int other) {
        status = other;
    }

    /** Does not respond from now on. */
    public void hang() {
        hanging = true;
    }

    private void take(HttpExchange exchange) throws IOException {
        byte[] body = exchange.getRequestBody().readAllBytes();
        if (hanging) {
            awaitEnd();
        }
        if (status == 200) {
            keep(exchange, body);
        }
        exchange.sendResponseHeaders(status, -1);
        exchange.close();
    }

    private void awaitEnd() {
        try {
            hang.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void keep(HttpExchange exchange, byte[] body) throws IOException {
        String type = exchange.getRequestHeaders().getFirst("Content-Type");
        String path = exchange.getRequestURI().getPath();
        if (!exchange.getRequestMethod().equals("POST") || !"application/x-protobuf".equals(type)) {
            wrong.add(exchange.getRequestMethod() + " of " + type);
        } else if (path.equals("/v1/traces")) {
            traces.add(ExportTraceServiceRequest.parseFrom(body));
        } else if (path.equals("/v1/metrics")) {
            metrics.add(ExportMetricsServiceRequest.parseFrom(body));
        } else {
            wrong.add(path);
        }
    }

    /** Requests that a receiver does not understand. */
    public List<String> wrong() {
        return wrong;
    }

    public List<ExportTraceServiceRequest> traces() {
        return traces;
    }

    public List<Span> spans() {
        List<Span> spans = new ArrayList<>();
        traces.forEach(request -> request.getResourceSpansList()
                .forEach(
                        resource -> resource.getScopeSpansList().forEach(scope -> spans.addAll(scope.getSpansList()))));
        return spans;
    }

    /** The metrics of the last request; empty when there was none. */
    public List<Metric> metrics() {
        List<Metric> last = new ArrayList<>();
        if (!metrics.isEmpty()) {
            metrics.get(metrics.size() - 1)
                    .getResourceMetricsList()
                    .forEach(resource ->
                            resource.getScopeMetricsList().forEach(scope -> last.addAll(scope.getMetricsList())));
        }
        return last;
    }

    @Override
    public void close() {
        hang.countDown();
        server.stop(0);
    }
}
