package io.waybill.osgi.whiteboard;

import io.waybill.api.journal.Journals;
import io.waybill.broker.Brokers;
import io.waybill.home.Home;
import io.waybill.query.JournalAccess;
import java.io.IOException;
import java.util.Optional;
import org.osgi.framework.Bundle;
import org.osgi.framework.ServiceFactory;
import org.osgi.framework.ServiceRegistration;

/**
 * Service factory that returns the {@link Journals} of the node's home to each bundle, and closes their readers when the
 * bundle stops or releases the service.
 *
 * <p><b>Threads.</b> Any: the framework calls on the thread that gets or releases the service.
 */
final class JournalsService implements ServiceFactory<Journals> {

    private final Brokers brokers;

    JournalsService(Brokers brokers) {
        this.brokers = brokers;
    }

    @Override
    public Journals getService(Bundle bundle, ServiceRegistration<Journals> registration) {
        Optional<Home> home = brokers.home();
        if (home.isPresent()) {
            return new JournalAccess(home.get());
        }
        return () -> {
            brokers.readUnrecorded("what Journals read");
            throw new IOException("a replay has no journals to read");
        };
    }

    @Override
    public void ungetService(Bundle bundle, ServiceRegistration<Journals> registration, Journals journals) {
        if (journals instanceof JournalAccess access) {
            access.close();
        }
    }
}
