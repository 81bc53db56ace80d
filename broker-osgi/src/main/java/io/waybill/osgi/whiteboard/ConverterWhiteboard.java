package io.waybill.osgi.whiteboard;

import io.waybill.api.device.ConvertsDevice;
import io.waybill.api.device.DeviceConverter;
import io.waybill.dispatch.Provider;
import io.waybill.dispatch.ProviderErrors;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleContext;
import org.osgi.framework.ServiceReference;
import org.osgi.util.tracker.ServiceTracker;
import org.osgi.util.tracker.ServiceTrackerCustomizer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Registers the {@link DeviceConverter} services of bundles. When one is unregistered, the stopping bundle waits here
 * until the messages that use it have completed, up to the drain limit.
 *
 * <p><b>Threads.</b> Any: the framework calls on the thread that registers or unregisters.
 */
public final class ConverterWhiteboard
        implements ServiceTrackerCustomizer<DeviceConverter, DeviceConverter>, AutoCloseable {

    /** Service property that {@link ConvertsDevice} sets. */
    static final String CONVERTS = ConvertsDevice.PREFIX_ + "converts.device";

    private static final Logger LOG = LoggerFactory.getLogger(ConverterWhiteboard.class);

    private final BundleContext context;
    private final DeviceConverters converters;
    private final ProviderErrors errors;
    private final ServiceProblems problems;
    private final Duration drainLimit;
    private final Map<String, Set<String>> replaced = new HashMap<>(); // guarded by itself; types by bundle
    private final ServiceTracker<DeviceConverter, DeviceConverter> tracker;

    /** @param errors counter of failures of converters */
    public ConverterWhiteboard(
            BundleContext context,
            DeviceConverters converters,
            ProviderErrors errors,
            ServiceProblems problems,
            Duration drainLimit) {
        this.errors = errors;
        this.problems = problems;
        this.drainLimit = drainLimit;
        this.context = context;
        this.converters = converters;
        this.tracker = ServiceObjects.tracker(context, DeviceConverter.class, this, problems);
    }

    public void open() {
        tracker.open(true);
    }

    @Override
    public void close() {
        tracker.close();
    }

    @Override
    public DeviceConverter addingService(ServiceReference<DeviceConverter> reference) {
        if (!(reference.getProperty(CONVERTS) instanceof String type)) {
            problems.report(
                    reference, "a converter says which device type it serves in the service property " + CONVERTS);
            return null;
        }
        String what = "the converter of " + type;
        DeviceConverter converter = ServiceObjects.get(context, reference, DeviceConverter.class, what, problems);
        if (converter != null) {
            Bundle bundle = reference.getBundle();
            Provider provider =
                    new Provider(bundle.getSymbolicName(), bundle.getVersion().toString());
            converters.add(type, converter, errors.reports(provider));
        }
        return converter;
    }

    @Override
    public void modifiedService(ServiceReference<DeviceConverter> reference, DeviceConverter converter) {
        // The type identifies a converter: a changed type is a new registration.
    }

    @Override
    public void removedService(ServiceReference<DeviceConverter> reference, DeviceConverter converter) {
        String type = (String) reference.getProperty(CONVERTS);
        String bundle = reference.getBundle().getSymbolicName();
        synchronized (replaced) {
            Set<String> types = replaced.get(bundle);
            if (types != null) {
                types.add(type);
                converters.replacing(type); // before its removal, so that no message fails for lack of a converter
            }
        }
        int left = converters.remove(type, converter, drainLimit);
        if (left > 0) {
            LOG.warn(
                    "{} leaves with {} messages that use its converter for {} after {} ms",
                    bundle,
                    left,
                    type,
                    drainLimit.toMillis());
        }
        context.ungetService(reference);
    }

    /** Makes messages wait for the next version of a bundle's converters while these are missing. */
    void replacing(String bundle) {
        synchronized (replaced) {
            replaced.put(bundle, new HashSet<>());
        }
    }

    /** Reverts {@link #replacing}. */
    void replaced(String bundle) {
        synchronized (replaced) {
            Set<String> types = replaced.remove(bundle);
            if (types != null) {
                types.forEach(converters::replaced);
            }
        }
    }
}
