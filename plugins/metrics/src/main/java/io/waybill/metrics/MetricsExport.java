package io.waybill.metrics;

import io.waybill.api.broker.Broker;
import io.waybill.api.event.CallEvents;
import io.waybill.api.handler.Exclusive;
import io.waybill.api.metrics.HomeMetrics;
import io.waybill.http.Page;
import io.waybill.http.PageRequest;
import io.waybill.http.WebPages;
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
import java.util.Dictionary;
import java.util.Hashtable;
import org.osgi.framework.BundleContext;
import org.osgi.framework.ServiceRegistration;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Deactivate;
import org.osgi.service.component.annotations.Modified;
import org.osgi.service.component.annotations.Reference;

/**
 * Component that exports the figures of the home, configured by {@code conf/io.waybill.metrics.cfg}; inactive without
 * that file.
 *
 * <p><b>Lifetime.</b> A change of the file is applied at run time: only parts with changed settings restart. With an
 * invalid value it exports nothing and reports the error.
 *
 * <p><b>Threads.</b> Those of OSGi, one at a time.
 */
@Exclusive
@Component(
        service = {},
        immediate = true,
        configurationPid = MetricsExport.PID)
public final class MetricsExport {

    /** PID of its settings. */
    static final String PID = "io.waybill.metrics";

    private static final Logger LOG = System.getLogger(MetricsExport.class.getName());

    private final BundleContext context;
    private final Broker broker;
    private final HomeMetrics home;
    private MetricsSettings settings; // null until there are valid ones; guarded by this
    private final Deque<AutoCloseable> exports =
            new ArrayDeque<>(); // exports over OTLP, the latest first; guarded by this
    private WorkerBeans beans; // null for none; guarded by this
    private ServiceRegistration<WebPages> pages; // null for none; guarded by this
    private volatile NodeFigures figures; // null for none; written under this, read by the pages

    @Activate
    public MetricsExport(
            BundleContext context,
            @Reference Broker broker,
            @Reference HomeMetrics home,
            MetricsSettings.Config config) {
        this.context = context;
        this.broker = broker;
        this.home = home;
        try {
            change(config);
        } catch (RuntimeException e) {
            end();
            throw e;
        }
    }

    /** Applies settings. */
    @Modified
    final synchronized void change(MetricsSettings.Config config) {
        if (broker.replay().isPresent()) { // a replay has no figures, and must not use a node's port
            return;
        }
        MetricsSettings next;
        try {
            next = new MetricsSettings(config);
        } catch (IllegalArgumentException e) { // reported here, since OSGi would add a stack trace
            end();
            LOG.log(Level.ERROR, "Metrics are off until conf/" + PID + ".cfg is right: " + e.getMessage());
            return;
        }
        MetricsSettings former = settings;
        settings = next;
        changeBeans(next);
        if (former == null || !former.listensAs(next)) {
            endPages();
        }
        changeExport(former, next);
        if (pages == null && next.listen().isPresent()) {
            Dictionary<String, Object> properties = new Hashtable<>();
            properties.put(WebPages.LISTEN, next.listen().get().toString());
            properties.put(WebPages.PATHS, new String[] {"/metrics", "/healthz"});
            pages = context.registerService(WebPages.class, this::page, properties);
        }
    }

    private void changeBeans(MetricsSettings next) {
        if (!next.hasBeans() && beans != null) {
            close(beans);
            beans = null;
        } else if (next.hasBeans() && beans == null) {
            beans = new WorkerBeans(home, broker, ManagementFactory.getPlatformMBeanServer());
        }
    }

    private void changeExport(MetricsSettings former, MetricsSettings next) {
        boolean isOther = former == null || !former.exportsAs(next);
        if (isOther) {
            endExports();
        }
        boolean isRead = next.listen().isPresent() || next.otlp().isPresent();
        NodeFigures last = figures;
        if (isOther || !isRead || last == null) { // it contains the counts of an export
            figures = isRead ? new NodeFigures(home, broker.self().worker().name()) : null;
            if (last != null) { // only now, so that scrapes always have figures
                close(last);
            }
        }
        if (exports.isEmpty() && next.otlp().isPresent()) {
            export(next);
        }
    }

    private Page page(PageRequest request) throws IOException {
        NodeFigures now = figures;
        return switch (request.path()) {
            case "/metrics" ->
                now == null ? null : now.page(request.header("Accept").orElse(""));
            case "/healthz" -> Page.text(200, "ok");
            default -> null;
        };
    }

    private void export(MetricsSettings next) {
        OtlpResource resource = new OtlpResource(
                broker.self().worker().name(),
                ProcessHandle.current().pid(),
                context.getBundle().getVersion().toString());
        NodeFigures read = figures;
        CallSpans spans = next.exportsTraces() ? new CallSpans() : null;
        OtlpExporter exporter = new OtlpExporter(
                next.otlp().orElseThrow(),
                resource,
                this::nameOf,
                spans,
                next.exportsMetrics() ? nowNs -> MetricsRequest.encode(resource, read.read(), nowNs) : null);
        exports.push(exporter);
        if (spans != null) {
            ServiceRegistration<CallEvents> listener = context.registerService(CallEvents.class, spans, null);
            exports.push(listener::unregister);
            read.countSpans(exporter, spans); // last, so that a reader of the count can rely on it
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

    private void endPages() {
        if (pages != null) {
            close(pages::unregister);
            pages = null;
        }
    }

    private void endExports() {
        while (!exports.isEmpty()) {
            close(exports.pop());
        }
    }

    /** Closes a part; a failure must not prevent the closing of the others. */
    private static void close(AutoCloseable part) {
        try {
            part.close();
        } catch (Exception e) {
            LOG.log(Level.WARNING, "A part of the export could not be ended", e);
        }
    }

    /** Closes all parts. */
    @Deactivate
    final synchronized void end() {
        settings = null;
        endPages();
        endExports();
        if (figures != null) {
            close(figures);
            figures = null;
        }
        if (beans != null) {
            close(beans);
            beans = null;
        }
    }
}
