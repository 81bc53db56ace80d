package io.waybill.device;

import io.waybill.api.WorkerInfo;
import io.waybill.api.tensor.Device;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.StringJoiner;

/**
 * Devices of a worker, and the devices of its peers on which tensors of each of them arrive. Immutable. A worker
 * publishes both in its {@code worker.json}; its peers check them, and map the tensors of their responses back.
 *
 * @param devices the worker's devices other than {@code cpu}; empty when it declares none
 * @param maps maps by the name of the peer: the peer's device for each of the worker's
 * @param sharing names of peers that may use tensors in the device memory where this worker has them; not published
 */
public record DeviceSettings(List<Device> devices, Map<String, Map<Device, Device>> maps, List<String> sharing) {

    /** Settings without devices and maps: tensors are sent from host memory to host memory. */
    public static final DeviceSettings NONE = new DeviceSettings(List.of(), Map.of(), List.of());

    /** Key of the devices in the entries that a worker publishes. */
    static final String DEVICES = "devices";

    /** Key of the maps in the entries that a worker publishes. */
    static final String MAPS = "deviceMaps";

    private static final int MAX_TEXT = 16 << 10;
    private static final String NOTHING = "none";

    public DeviceSettings {
        devices = List.copyOf(devices);
        sharing = List.copyOf(sharing);
        Map<String, Map<Device, Device>> copy = new LinkedHashMap<>();
        for (Map.Entry<String, Map<Device, Device>> each : maps.entrySet()) {
            copy.put(each.getKey(), Collections.unmodifiableMap(new LinkedHashMap<>(each.getValue())));
        }
        maps = Collections.unmodifiableMap(copy);
        if (text(devices).length() + text(maps).length() > MAX_TEXT) {
            throw new IllegalArgumentException(
                    "the devices and device maps of a worker take at most " + MAX_TEXT + " characters of text");
        }
    }

    /** Creates settings that share no device memory. */
    public DeviceSettings(List<Device> devices, Map<String, Map<Device, Device>> maps) {
        this(devices, maps, List.of());
    }

    /** Returns the same settings with these devices. */
    public DeviceSettings withDevices(List<Device> other) {
        return new DeviceSettings(other, maps, sharing);
    }

    /** Returns the same settings with more peers that share device memory. */
    public DeviceSettings withSharing(List<String> more) {
        List<String> all = new ArrayList<>(sharing);
        all.addAll(more);
        return new DeviceSettings(devices, maps, all);
    }

    /**
     * Returns the same settings with more devices mapped for a peer.
     *
     * @throws IllegalArgumentException when a device is mapped to another one already, or two to the same
     */
    public DeviceSettings withMap(String peer, Map<Device, Device> more) {
        Map<String, Map<Device, Device>> merged = new LinkedHashMap<>(maps);
        merged.merge(peer, merge(Map.of(), more), DeviceSettings::merge);
        return new DeviceSettings(devices, merged, sharing);
    }

    private static Map<Device, Device> merge(Map<Device, Device> known, Map<Device, Device> more) {
        Map<Device, Device> merged = new LinkedHashMap<>(known);
        Map<Device, Device> sources = new LinkedHashMap<>();
        more.forEach((from, to) -> {
            put(merged, from, to);
            Device other = sources.putIfAbsent(to, from);
            if (other != null) {
                throw new IllegalArgumentException("a device map only supports 1-to-1 mapping, trying to map " + other
                        + " and " + from + " to " + to);
            }
        });
        return merged;
    }

    private static void put(Map<Device, Device> map, Device from, Device to) {
        Device known = map.putIfAbsent(general(from), general(to));
        if (known != null && !known.equals(general(to))) {
            throw new IllegalArgumentException(
                    "a device map only supports 1-to-1 mapping, trying to map " + from + " to " + known + " and " + to);
        }
    }

    /** Returns the device itself, but {@code cpu} for every name of host memory. */
    static Device general(Device device) {
        return device.isCpu() ? Device.CPU : device;
    }

    /**
     * Parses devices, separated by blanks or commas; {@code none} for none.
     *
     * @throws IllegalArgumentException when one of them is no device
     */
    public static List<Device> parseDevices(String text) {
        requireShort(text);
        List<Device> devices = new ArrayList<>();
        for (String word : words(text)) {
            devices.add(Device.parse(word));
        }
        return devices;
    }

    /**
     * Parses maps, separated by semicolons: {@code server toy:0=toy:1 cpu=toy:0; other toy:0=toy:0}; {@code none} for
     * none.
     *
     * @throws IllegalArgumentException when the text is no map, or a map that is not 1-to-1
     */
    public static Map<String, Map<Device, Device>> parseMaps(String text) {
        requireShort(text);
        DeviceSettings parsed = NONE;
        for (String part : text.strip().equals(NOTHING) ? new String[0] : text.split(";")) {
            List<String> words = words(part);
            if (words.size() < 2) {
                throw new IllegalArgumentException(
                        "a device map is a worker's name and one or more devices, such as server toy:0=toy:1: '"
                                + part.strip() + "'");
            }
            Map<Device, Device> map = new LinkedHashMap<>();
            for (String word : words.subList(1, words.size())) {
                int at = word.indexOf('=');
                if (at < 0) {
                    throw new IllegalArgumentException(
                            "a device is mapped by LOCAL=REMOTE, such as toy:0=toy:1: '" + word + "'");
                }
                put(map, Device.parse(word.substring(0, at)), Device.parse(word.substring(at + 1)));
            }
            parsed = parsed.withMap(words.get(0), map);
        }
        return parsed.maps();
    }

    /**
     * Parses names of peers, separated by blanks or commas; {@code none} for none.
     *
     * @throws IllegalArgumentException when one of them is no name of a worker
     */
    public static List<String> parsePeers(String text) {
        requireShort(text);
        List<String> peers = words(text);
        peers.forEach(WorkerInfo::requireName);
        return peers;
    }

    private static List<String> words(String text) {
        String stripped = text.strip();
        return stripped.isEmpty() || stripped.equals(NOTHING) ? List.of() : List.of(stripped.split("[\\s,]+"));
    }

    private static void requireShort(String text) {
        if (text.length() > MAX_TEXT) {
            throw new IllegalArgumentException("a text of at most " + MAX_TEXT + " characters is expected");
        }
    }

    /** Returns the entries that a worker publishes; empty when there are none. */
    public Map<String, String> published() {
        Map<String, String> published = new LinkedHashMap<>();
        if (!devices.isEmpty()) {
            published.put(DEVICES, text(devices));
        }
        if (!maps.isEmpty()) {
            published.put(MAPS, text(maps));
        }
        return published;
    }

    /**
     * Parses the entries that a worker has published.
     *
     * @throws IllegalArgumentException when they can't be parsed
     */
    public static DeviceSettings ofPublished(Map<String, String> published) {
        return new DeviceSettings(
                parseDevices(published.getOrDefault(DEVICES, NOTHING)),
                parseMaps(published.getOrDefault(MAPS, NOTHING)));
    }

    private static String text(List<Device> devices) {
        StringJoiner text = new StringJoiner(" ");
        for (Device device : devices) {
            text.add(device.toString());
        }
        return text.toString();
    }

    private static String text(Map<String, Map<Device, Device>> maps) {
        StringJoiner text = new StringJoiner("; ");
        for (Map.Entry<String, Map<Device, Device>> entry : maps.entrySet()) {
            text.add(entry.getKey() + " " + pairs(entry.getValue()));
        }
        return text.toString();
    }

    private static String pairs(Map<Device, Device> map) {
        StringJoiner text = new StringJoiner(" ");
        for (Map.Entry<Device, Device> entry : map.entrySet()) {
            text.add(entry.getKey() + "=" + entry.getValue());
        }
        return text.toString();
    }

    /**
     * Checks all settings that need no peer.
     *
     * @param worker name of the worker with these settings
     * @throws IllegalArgumentException with all problems
     */
    public void require(String worker) {
        List<String> wrong = new ArrayList<>();
        String node = "Node " + worker + " has ";
        if (new HashSet<>(devices).size() < devices.size()) {
            wrong.add(node + "duplicated devices: " + text(devices));
        }
        for (Device device : devices) {
            if (!isExact(device) || device.isCpu()) {
                wrong.add(node + "devices with invalid indices: " + text(devices));
                break;
            }
        }
        for (String peer : sharing) {
            try {
                WorkerInfo.requireName(peer);
            } catch (IllegalArgumentException e) {
                wrong.add(node + "invalid names of workers that share its devices: " + e.getMessage());
            }
        }
        for (Map.Entry<String, Map<Device, Device>> each : maps.entrySet()) {
            try {
                WorkerInfo.requireName(each.getKey());
            } catch (IllegalArgumentException e) {
                wrong.add(node + "invalid target node names in its device maps: " + e.getMessage());
            }
            String problem = problemOf(worker, each.getKey(), each.getValue());
            if (!problem.isEmpty()) {
                wrong.add(problem);
            }
        }
        if (!wrong.isEmpty()) {
            throw new IllegalArgumentException(String.join("; ", wrong));
        }
    }

    private String problemOf(String worker, String peer, Map<Device, Device> map) {
        if (map.isEmpty()) {
            return "";
        }
        String node = "Node " + worker + " has ";
        String where = " in its device map for " + peer + ": " + pairs(map);
        if (new HashSet<>(map.values()).size() < map.size()) {
            return node + "duplicated target devices" + where;
        }
        if (!map.keySet().stream().allMatch(DeviceSettings::isExact)) {
            return node + "source devices with invalid indices" + where;
        }
        if (!devices.isEmpty() && !map.keySet().stream().allMatch(this::has)) {
            return node + "unexpected source devices" + where + "; its devices are " + text(devices);
        }
        return map.values().stream().allMatch(DeviceSettings::isExact)
                ? ""
                : node + "target devices with invalid indices" + where;
    }

    /**
     * Returns the problem of a worker's map for a peer; empty when it fits.
     *
     * @param worker name of the worker with these settings
     * @param declared settings that the peer declares
     */
    String problem(String worker, String peer, DeviceSettings declared) {
        Map<Device, Device> map = maps.getOrDefault(peer, Map.of());
        String own = problemOf(worker, peer, map);
        if (!own.isEmpty()
                || declared.devices.isEmpty()
                || map.values().stream().allMatch(declared::has)) {
            return own;
        }
        return "Node " + worker + " has unexpected target devices in its device map for " + peer + ": " + pairs(map)
                + "; the devices of " + peer + " are " + text(declared.devices);
    }

    private static boolean isExact(Device device) {
        return device.isCpu() || device.index() != Device.ANY_INDEX;
    }

    /** Returns whether this is one of the worker's devices, as far as it declares them. */
    boolean has(Device device) {
        return device.isCpu() || devices.isEmpty() || devices.contains(device);
    }

    /** Returns the devices in one line. */
    String devicesText() {
        return text(devices);
    }
}
