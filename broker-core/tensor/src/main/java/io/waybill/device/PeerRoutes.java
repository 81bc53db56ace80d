package io.waybill.device;

import io.waybill.api.tensor.Device;
import io.waybill.tensor.DeviceTargets;
import java.util.Map;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Routes of tensors between a worker and one peer, from the declarations of both.
 *
 * <p><b>Threads.</b> {@link #declared} by one thread at a time; the others by any.
 */
public final class PeerRoutes {

    private static final Logger LOG = LoggerFactory.getLogger(PeerRoutes.class);

    private final String worker;
    private final DeviceSettings own;
    private final String peer;
    private Map<String, String> seen; // last entries that the peer had published
    // Written by the thread that refreshes the links, read by threads that send.
    private volatile DeviceRoute requests;
    private volatile DeviceRoute responses;

    /** Creates the routes to a peer that has declared nothing. */
    public PeerRoutes(String worker, DeviceSettings own, String peer) {
        this.worker = worker;
        this.own = own;
        this.peer = peer;
        declared(Map.of());
    }

    /** Notes the entries that the peer has published, which are not trusted. */
    public void declared(Map<String, String> published) {
        if (published == seen) {
            return;
        }
        seen = published;
        DeviceSettings declared;
        String malformed = "";
        try {
            declared = DeviceSettings.ofPublished(published);
        } catch (IllegalArgumentException e) {
            declared = DeviceSettings.NONE;
            malformed = "Node " + peer + " has declared devices that can't be read: " + e.getMessage();
        }
        String forward = malformed.isEmpty() ? own.problem(worker, peer, declared) : malformed;
        String backward = malformed.isEmpty() ? declared.problem(peer, worker, own) : malformed;
        requests = DeviceRoute.ofRequests(
                peer, mapFor(own, peer), forward, own.sharing().contains(peer));
        responses = DeviceRoute.ofResponses(
                peer, mapFor(declared, worker), backward, own.sharing().contains(peer));
        if (!forward.isEmpty()) {
            LOG.error(
                    "{}; requests to it with tensors on a device fail until one of both is configured otherwise",
                    forward);
        } else if (!backward.isEmpty()) {
            LOG.error("{}; responses to it with tensors on a device fail until it is configured otherwise", backward);
        }
    }

    private static Map<Device, Device> mapFor(DeviceSettings settings, String peer) {
        return settings.maps().getOrDefault(peer, Map.of());
    }

    /**
     * Checks a worker's map for a peer that is there.
     *
     * @throws IllegalArgumentException when it does not fit the peer's declarations
     */
    public static void require(String worker, DeviceSettings own, String peer, Map<String, String> published) {
        DeviceSettings declared;
        try {
            declared = DeviceSettings.ofPublished(published);
        } catch (IllegalArgumentException e) {
            return; // the peer's mistake, which affects only tensors for it
        }
        String problem = own.problem(worker, peer, declared);
        if (!problem.isEmpty()) {
            throw new IllegalArgumentException(problem);
        }
    }

    /** Returns the targets of tensors in requests to the peer. */
    public DeviceTargets requests() {
        return requests;
    }

    /** Returns the targets of tensors in responses to the peer. */
    public DeviceTargets responses() {
        return responses;
    }
}
