package io.waybill.device;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.ErrorKind;
import io.waybill.api.MessageId;
import io.waybill.api.tensor.Device;
import io.waybill.tensor.DeviceTargets;
import java.util.HashMap;
import java.util.Map;

/**
 * Devices of one peer on which tensors for it arrive: tensors in requests by the worker's own map for the peer, tensors
 * in responses by the reverse of the peer's map for the worker. Host memory goes to host memory unless it is mapped.
 * Immutable.
 */
public final class DeviceRoute implements DeviceTargets {

    /** Kind of message in which the tensors are sent. */
    public enum Way {
        REQUEST("Request"),
        RESPONSE("Response");

        private final String text;

        Way(String text) {
            this.text = text;
        }
    }

    private final Way way;
    private final String peer;
    private final Map<Device, Device> map;
    private final Device cpu;
    private final String problem; // empty when the map fits
    private final boolean shares;

    private DeviceRoute(Way way, String peer, Map<Device, Device> map, String problem, boolean shares) {
        this.shares = shares;
        this.way = way;
        this.peer = peer;
        this.map = map;
        this.cpu = problem.isEmpty() ? map.getOrDefault(Device.CPU, Device.CPU) : Device.CPU;
        this.problem = problem;
    }

    /** Returns the route of requests to a peer. */
    static DeviceRoute ofRequests(String peer, Map<Device, Device> map, String problem, boolean shares) {
        return new DeviceRoute(Way.REQUEST, peer, map, problem, shares);
    }

    /** Returns the route of responses to a peer, with its map. */
    static DeviceRoute ofResponses(String peer, Map<Device, Device> map, String problem, boolean shares) {
        Map<Device, Device> reverse = new HashMap<>();
        map.forEach((from, to) -> reverse.put(to, from));
        return new DeviceRoute(Way.RESPONSE, peer, reverse, problem, shares);
    }

    @Override
    public Device target(Device local) {
        if (local.isCpu()) {
            if (!problem.isEmpty() && map.containsKey(Device.CPU)) {
                throw unmapped(problem);
            }
            return cpu;
        }
        Device target = problem.isEmpty() ? map.get(local) : null;
        if (target == null) {
            throw unmapped(why(local));
        }
        return target;
    }

    @Override
    public boolean shares() {
        return shares;
    }

    private String why(Device local) {
        String missing = way.text + " device mapping is not available for destination " + peer;
        if (!problem.isEmpty()) {
            return missing + ": " + problem;
        }
        return map.isEmpty()
                ? "only CPU tensors are sent by default, please move your tensors to CPU before sending them, or configure"
                        + " a device map. " + missing + ", but found tensor on device: " + local
                : missing + " for device " + local + " but received a tensor on that device.";
    }

    private static CallException unmapped(String text) {
        return new CallException(ErrorKind.UNKNOWN_ERROR, ErrorCode.DEVICE_UNMAPPED, MessageId.NONE, text);
    }
}
