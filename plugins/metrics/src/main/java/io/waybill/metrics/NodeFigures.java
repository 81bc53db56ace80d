package io.waybill.metrics;

import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.binder.MeterBinder;
import io.micrometer.core.instrument.binder.jvm.ClassLoaderMetrics;
import io.micrometer.core.instrument.binder.jvm.JvmGcMetrics;
import io.micrometer.core.instrument.binder.jvm.JvmMemoryMetrics;
import io.micrometer.core.instrument.binder.jvm.JvmThreadMetrics;
import io.micrometer.core.instrument.binder.system.FileDescriptorMetrics;
import io.micrometer.core.instrument.binder.system.ProcessorMetrics;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.prometheus.metrics.expositionformats.ExpositionFormatWriter;
import io.prometheus.metrics.expositionformats.OpenMetricsTextFormatWriter;
import io.prometheus.metrics.expositionformats.PrometheusTextFormatWriter;
import io.prometheus.metrics.model.snapshots.MetricSnapshots;
import io.waybill.api.metrics.HomeMetrics;
import io.waybill.http.Page;
import io.waybill.metrics.otlp.CallSpans;
import io.waybill.metrics.otlp.OtlpExporter;
import java.io.ByteArrayOutputStream;
import java.io.IOException;

/**
 * All exported figures of a node: those of its home, and Micrometer's of its own JVM.
 *
 * <p><b>Threads.</b> Any.
 */
final class NodeFigures implements AutoCloseable {

    private final PrometheusMeterRegistry registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
    private final ExpositionFormatWriter plain = PrometheusTextFormatWriter.create();
    private final ExpositionFormatWriter open = OpenMetricsTextFormatWriter.create();
    private final JvmGcMetrics pauses; // listens to the JVM

    /** @param worker name of this node's worker */
    NodeFigures(HomeMetrics home, String worker) {
        registry.getPrometheusRegistry().register(new HomeFigures(home));
        Tags tags = Tags.of("worker", worker);
        bind(new JvmMemoryMetrics(tags));
        bind(new JvmThreadMetrics(tags));
        bind(new ClassLoaderMetrics(tags));
        bind(new ProcessorMetrics(tags));
        bind(new FileDescriptorMetrics(tags));
        pauses = new JvmGcMetrics(tags);
        bind(pauses);
    }

    private void bind(MeterBinder binder) {
        binder.bindTo(registry);
    }

    /** Adds the counts of an export of spans. */
    void countSpans(OtlpExporter exporter, CallSpans spans) {
        FunctionCounter.builder("waybill.otlp.spans.exported", exporter, OtlpExporter::sent)
                .description("Spans that the receiver of OTLP has taken.")
                .register(registry);
        FunctionCounter.builder("waybill.otlp.spans.dropped", spans, CallSpans::dropped)
                .description("Spans of sampled calls that were not exported.")
                .register(registry);
    }

    MetricSnapshots read() {
        return registry.getPrometheusRegistry().scrape();
    }

    /** Creates the page of a scrape, in the form that the client requested. */
    Page page(String accept) throws IOException {
        ExpositionFormatWriter writer = open.accepts(accept) ? open : plain;
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        writer.write(out, read());
        return Page.of(writer.getContentType(), out.toByteArray());
    }

    /** Removes Micrometer's listeners from the JVM. */
    @Override
    public void close() {
        pauses.close();
        registry.close();
    }
}
