package io.waybill.profiler;

import io.waybill.torch.NativeTensors;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import org.osgi.framework.BundleContext;
import org.osgi.framework.ServiceReference;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Reference;
import org.osgi.service.component.annotations.ReferenceCardinality;
import org.osgi.service.component.annotations.ReferencePolicy;

/**
 * Records operators while the node has libtorch. No signature here names a class of libtorch, because a node without it
 * can't load one. The framework calls it, one method at a time.
 */
@Component(service = {})
public final class OptionalTorch {

    private static final Logger LOG = System.getLogger(OptionalTorch.class.getName());

    private final RemoteProfiler profiler;
    private final BundleContext context;
    private AutoCloseable recorder; // null without libtorch

    @Activate
    public OptionalTorch(BundleContext context, @Reference RemoteProfiler profiler) {
        this.context = context;
        this.profiler = profiler;
    }

    /** Called when libtorch is available. */
    @Reference(
            service = NativeTensors.class,
            cardinality = ReferenceCardinality.OPTIONAL,
            policy = ReferencePolicy.DYNAMIC)
    void bind(ServiceReference<?> natives) {
        try {
            recorder = new OperatorRecorder(profiler, (NativeTensors) context.getService(natives));
        } catch (IllegalStateException e) {
            LOG.log(Level.WARNING, "Profiles have no operators: " + e.getMessage());
        }
    }

    /** Called when libtorch or this bundle is deactivated. */
    void unbind(ServiceReference<?> natives) throws Exception {
        if (recorder != null) {
            recorder.close();
            recorder = null;
        }
        context.ungetService(natives);
    }
}
