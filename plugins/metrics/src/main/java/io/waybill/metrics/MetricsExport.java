package io.waybill.metrics;

import io.waybill.api.broker.Broker;
import io.waybill.api.event.CallEvents;
import io.waybill.api.metrics.HomeMetrics;
import io.waybill.metrics.http.HttpEndpoint;
import io.waybill.metrics.http.Page;
import io.waybill.metrics.jmx.WorkerBeans;
import io.waybill.metrics.otlp.CallSpans;
import io.waybill.metrics.otlp.MetricsRequest;
import io.waybill.metrics.otlp.OtlpExporter;
import io.waybill.metrics.otlp.OtlpResource;
import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.lang.management.ManagementFactory;
import java.util.ArrayDeque;
import java.util.Deque;
import org.osgi.framework.BundleContext;
import org.osgi.framework.ServiceRegistration;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Deactivate;
import org.osgi.service.component.annotations.Reference;
import org.osgi.service.component.annotations.ReferenceCardinality;
import org.osgi.service.component.annotations.ReferencePolicyOption;

/**
 * Shows the figures of the home to the outside, as {@code conf/io.waybill.metrics.cfg} says; without that file it does nothing.
 *
 * <p><b>Lifetime.</b> A change of the file ends it, and begins another one. With a wrong value it shows nothing and says why.
 */
@Component(
        service = {},
        immediate = true,
        configurationPid = MetricsExport.PID)
public final class MetricsExport {

    /** Of its settings. */
    static final String PID = "io.waybill.metrics";

    private static final Logger LOG = System.getLogger(MetricsExport.class.getName());

    private final Broker broker;
    private final Deque<AutoCloseable> parts = new ArrayDeque<>(); // the one that began last is first

    /** @param home null in a replay, where there is nothing to show */
    @Activate
    public MetricsExport(
            BundleContext context,
            @Reference Broker broker,
            @Reference(cardinality = ReferenceCardinality.OPTIONAL, policyOption = ReferencePolicyOption.GREEDY)
                    HomeMetrics home,
            MetricsSettings.Config config)
            throws IOException {
        this.broker = broker;
        MetricsSettings settings = home == null ? null : checked(config);
        if (settings == null) {
            return;
        }
        try {
            begin(context, home, settings);
        } catch (IOException | RuntimeException e) {
            end();
            throw e;
        }
    }

    /** Returns the settings; null when a value is wrong, which is said here, since OSGi would say it with a stack trace. */
    private static MetricsSettings checked(MetricsSettings.Config config) {
        try {
            return new MetricsSettings(config);
        } catch (IllegalArgumentException e) {
            LOG.log(Level.ERROR, "Metrics are off until conf/" + PID + ".cfg is right: " + e.getMessage());
            return null;
        }
    }

    private void begin(BundleContext context, HomeMetrics home, MetricsSettings settings) throws IOException {
        if (settings.hasBeans()) {
            parts.push(new WorkerBeans(home, broker, ManagementFactory.getPlatformMBeanServer()));
        }
        if (settings.listen().isEmpty() && settings.otlp().isEmpty()) {
            return;
        }
        NodeFigures figures = new NodeFigures(home, broker.self().worker().name());
        parts.push(figures);
        if (settings.otlp().isPresent()) {
            export(context, settings, figures);
        }
        if (settings.listen().isPresent()) {
            parts.push(new HttpEndpoint(settings.listen().get(), (path, accept) -> page(figures, path, accept)));
        }
    }

    private static Page page(NodeFigures figures, String path, String accept) throws IOException {
        return switch (path) {
            case "/metrics" -> figures.page(accept);
            case "/healthz" -> Page.text("200 OK", "ok");
            default -> null;
        };
    }

    private void export(BundleContext context, MetricsSettings settings, NodeFigures figures) {
        OtlpResource resource = new OtlpResource(
                broker.self().worker().name(),
                ProcessHandle.current().pid(),
                context.getBundle().getVersion().toString());
        CallSpans spans = settings.exportsTraces() ? new CallSpans() : null;
        OtlpExporter exporter = new OtlpExporter(
                settings.otlp().orElseThrow(),
                resource,
                this::nameOf,
                spans,
                settings.exportsMetrics() ? nowNs -> MetricsRequest.encode(resource, figures.read(), nowNs) : null);
        parts.push(exporter);
        if (spans != null) {
            figures.countSpans(exporter, spans);
            ServiceRegistration<CallEvents> listener = context.registerService(CallEvents.class, spans, null);
            parts.push(listener::unregister);
        }
    }

    private String nameOf(int worker) {
        if (worker == broker.self().worker().id()) {
            return broker.self().worker().name();
        }
        return broker.peers().stream()
                .filter(peer -> peer.worker().id() == worker)
                .map(peer -> peer.worker().name())
                .findFirst()
                .orElse(String.valueOf(worker));
    }

    /** Ends all parts, in the reverse order of their begin. */
    @Deactivate
    void end() {
        while (!parts.isEmpty()) {
            try {
                parts.pop().close();
            } catch (Exception e) { // one part must not keep the others
                LOG.log(Level.WARNING, "A part of the export could not be ended", e);
            }
        }
    }
}
