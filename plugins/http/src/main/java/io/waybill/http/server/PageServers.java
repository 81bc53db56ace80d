package io.waybill.http.server;

import io.waybill.http.ListenAddress;
import io.waybill.http.WebPages;
import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.osgi.framework.ServiceReference;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Deactivate;
import org.osgi.service.component.annotations.Reference;
import org.osgi.service.component.annotations.ReferenceCardinality;
import org.osgi.service.component.annotations.ReferencePolicy;

/**
 * Component that serves all {@link WebPages}, with a server for each address; without pages it has neither a thread nor a
 * socket.
 *
 * <p><b>Threads.</b> Those of OSGi.
 */
@Component(
        service = {},
        immediate = true)
public final class PageServers {

    private static final Logger LOG = System.getLogger(PageServers.class.getName());

    private final Map<ServiceReference<WebPages>, HostedPages> pages =
            new TreeMap<>((first, second) -> second.compareTo(first)); // highest ranking first; guarded by this
    private final Map<ListenAddress, PageServer> servers = new HashMap<>(); // guarded by this

    /** Serves pages; wrong properties are reported. */
    @Reference(
            service = WebPages.class,
            cardinality = ReferenceCardinality.MULTIPLE,
            policy = ReferencePolicy.DYNAMIC,
            unbind = "remove")
    void add(ServiceReference<WebPages> reference, WebPages service) {
        String owner = reference.getBundle() == null
                ? "a bundle that has stopped"
                : reference.getBundle().getSymbolicName();
        try {
            HostedPages added = new HostedPages(owner, service, reference::getProperty);
            synchronized (this) {
                pages.put(reference, added);
                PageServer server = servers.get(added.address());
                if (server == null) {
                    servers.put(added.address(), new PageServer(added.address(), List.of(added)));
                } else {
                    server.show(of(added.address()));
                }
            }
        } catch (IllegalArgumentException | IOException e) {
            LOG.log(Level.ERROR, "Pages of {0} are not served: {1}", owner, e.getMessage());
        }
    }

    private List<HostedPages> of(ListenAddress address) {
        return pages.values().stream()
                .filter(each -> each.address().equals(address))
                .toList();
    }

    /** Ends the calls of pages, and the server with its last ones. */
    void remove(ServiceReference<WebPages> reference) {
        HostedPages removed;
        PageServer last = null;
        synchronized (this) {
            removed = pages.remove(reference);
            if (removed == null) {
                return; // its properties were wrong
            }
            List<HostedPages> others = of(removed.address());
            if (others.isEmpty()) {
                last = servers.remove(removed.address());
            } else if (servers.containsKey(removed.address())) {
                servers.get(removed.address()).show(others);
            }
        }
        if (last != null) {
            last.close();
        }
        if (!removed.close()) {
            LOG.log(Level.WARNING, "A request for {0} did not end in time", removed);
        }
    }

    /** Ends all servers. */
    @Deactivate
    void end() {
        List<PageServer> all;
        synchronized (this) {
            all = List.copyOf(servers.values());
            servers.clear();
        }
        all.forEach(PageServer::close);
    }
}
