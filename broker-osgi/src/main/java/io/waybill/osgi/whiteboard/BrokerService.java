package io.waybill.osgi.whiteboard;

import io.waybill.api.broker.Broker;
import io.waybill.api.journal.Journals;
import io.waybill.api.metrics.HomeMetrics;
import io.waybill.broker.Brokers;
import io.waybill.broker.OwnedBroker;
import io.waybill.dispatch.Provider;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleContext;
import org.osgi.framework.ServiceFactory;
import org.osgi.framework.ServiceRegistration;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Service factory that returns one {@link Broker} per bundle, and revokes it when the bundle stops or releases the
 * service.
 *
 * <p><b>Threads.</b> Any: the framework calls on the thread that gets or releases the service.
 */
public final class BrokerService implements ServiceFactory<Broker> {

    private static final Logger LOG = LoggerFactory.getLogger(BrokerService.class);

    private final Brokers brokers;

    private BrokerService(Brokers brokers) {
        this.brokers = brokers;
    }

    /** Registers the service, and those of the home's figures and journals. All are unregistered with the framework. */
    public static void register(BundleContext context, Brokers brokers) {
        context.registerService(Broker.class, new BrokerService(brokers), null);
        context.registerService(Journals.class, new JournalsService(brokers), null);
        brokers.metrics().ifPresent(metrics -> context.registerService(HomeMetrics.class, metrics, null));
    }

    @Override
    public Broker getService(Bundle bundle, ServiceRegistration<Broker> registration) {
        return brokers.open(
                new Provider(bundle.getSymbolicName(), bundle.getVersion().toString()));
    }

    @Override
    public void ungetService(Bundle bundle, ServiceRegistration<Broker> registration, Broker broker) {
        try {
            boolean stays = bundle.getState() == Bundle.ACTIVE || bundle.getState() == Bundle.STARTING;
            ((OwnedBroker) broker).revoke(stays ? "the bundle gave the service back" : "the bundle has stopped");
        } catch (RuntimeException | Error e) { // the bundle still stops
            LOG.error("The Broker of {} was not revoked in order", bundle.getSymbolicName(), e);
        }
    }
}
