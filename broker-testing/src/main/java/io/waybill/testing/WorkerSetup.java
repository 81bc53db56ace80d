package io.waybill.testing;

import io.waybill.api.handler.MessageHandler;
import io.waybill.api.tensor.Device;
import io.waybill.device.DeviceSettings;
import io.waybill.dispatch.HandlerKey;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Bundles, handlers and settings of a worker that a test starts. With a bundle the worker is a node, with a framework
 * of its own.
 *
 * <p><b>Threads.</b> Immutable. <b>Errors.</b> A text that is no setting is refused here, with an
 * {@link IllegalArgumentException}; devices that do not fit the worker or a peer are refused at its start.
 */
public final class WorkerSetup {

    private static final String BUNDLE = "bundle";
    private static final String HANDLER = "handler";
    private static final String SHARING = "sharing";

    private final List<Path> bundles;
    private final Map<String, Map<String, String>> configurations;
    private final Map<String, Class<? extends MessageHandler>> handlers;
    private final DeviceSettings devices;

    private WorkerSetup(
            List<Path> bundles,
            Map<String, Map<String, String>> configurations,
            Map<String, Class<? extends MessageHandler>> handlers,
            DeviceSettings devices) {
        this.bundles = List.copyOf(bundles);
        this.configurations = configurations;
        this.handlers = handlers;
        this.devices = devices;
    }

    /**
     * Returns a setup with these bundles.
     *
     * @param bundles jars, or directories with the content of one, such as bnd's output in {@code target/classes}; they
     *     are installed in this order. None for a worker without a framework
     */
    public static WorkerSetup of(Path... bundles) {
        return new WorkerSetup(List.of(bundles), Map.of(), Map.of(), DeviceSettings.NONE);
    }

    /** Returns a copy with a bundle that is installed before the last one. */
    WorkerSetup after(Path other) {
        List<Path> more = new ArrayList<>(bundles);
        more.add(more.size() - 1, other);
        return new WorkerSetup(more, configurations, handlers, devices);
    }

    /** Returns a copy with settings of a component, which has them when it starts; see {@link TestBroker#configure}. */
    public WorkerSetup configured(String pid, Map<String, String> settings) {
        return new WorkerSetup(bundles, with(configurations, pid, Map.copyOf(settings)), handlers, devices);
    }

    /**
     * Returns a copy with a handler of the test, given by its class, so that a process of its own can make one. Each
     * worker makes one, and keeps it until its process ends. An annotation {@code @Delivery} of the class applies.
     *
     * @param key an operation, a prefix such as {@code text.*}, or the name or code of a type
     * @param type a class, nested ones {@code static}, with a constructor without parameters
     */
    public WorkerSetup handler(String key, Class<? extends MessageHandler> type) {
        HandlerKey.parse(key);
        try {
            type.getDeclaredConstructor();
        } catch (NoSuchMethodException e) {
            throw new IllegalArgumentException(
                    "handler " + type.getName() + " of " + key
                            + ": expected a constructor without parameters, found none; make a nested class static",
                    e);
        }
        return new WorkerSetup(bundles, configurations, with(handlers, key, type), devices);
    }

    /** Returns a copy with the worker's devices, as in {@code tensor.devices}: {@code toy:0 toy:1}. */
    public WorkerSetup devices(String all) {
        return with(devices.withDevices(DeviceSettings.parseDevices(all)));
    }

    /**
     * Returns a copy with device maps for peers, as in {@code tensor.device-maps}: {@code server cpu=toy:0; ps1
     * toy:0=toy:1}. They add to earlier ones.
     */
    public WorkerSetup deviceMaps(String maps) {
        DeviceSettings all = devices;
        for (Map.Entry<String, Map<Device, Device>> each :
                DeviceSettings.parseMaps(maps).entrySet()) {
            all = all.withMap(each.getKey(), each.getValue());
        }
        return with(all);
    }

    /** Returns a copy with peers that may use device memory of this worker, as in {@code tensor.device-sharing}. */
    public WorkerSetup deviceSharing(String peers) {
        return with(devices.withSharing(DeviceSettings.parsePeers(peers)));
    }

    private WorkerSetup with(DeviceSettings other) {
        return new WorkerSetup(bundles, configurations, handlers, other);
    }

    private static <V> Map<String, V> with(Map<String, V> all, String key, V value) {
        Map<String, V> more = new LinkedHashMap<>(all);
        more.put(key, value);
        return more;
    }

    boolean isNode() {
        return !bundles.isEmpty();
    }

    List<Path> bundles() {
        return bundles;
    }

    Map<String, Map<String, String>> configurations() {
        return configurations;
    }

    DeviceSettings devices() {
        return devices;
    }

    /** Makes the handlers, by key. */
    Map<String, MessageHandler> newHandlers() {
        Map<String, MessageHandler> made = new LinkedHashMap<>();
        handlers.forEach((key, type) -> made.put(key, newHandler(type)));
        return made;
    }

    private static MessageHandler newHandler(Class<? extends MessageHandler> type) {
        try {
            var constructor = type.getDeclaredConstructor();
            constructor.setAccessible(true); // a test's class may be private
            return constructor.newInstance();
        } catch (ReflectiveOperationException e) {
            throw new IllegalArgumentException("no handler " + type.getName() + " can be made: " + e, e);
        }
    }

    /** Returns what {@link #ofArguments} reads: all but the settings of components, which are files. */
    List<String> arguments() {
        List<String> arguments = new ArrayList<>();
        bundles.forEach(bundle -> arguments.add(BUNDLE + " " + bundle.toAbsolutePath()));
        handlers.forEach((key, type) -> arguments.add(HANDLER + " " + key + " " + type.getName()));
        devices.sharing().forEach(peer -> arguments.add(SHARING + " " + peer));
        devices.published().forEach((entry, text) -> arguments.add(entry + " " + text));
        return arguments;
    }

    static WorkerSetup ofArguments(List<String> arguments) throws ClassNotFoundException {
        List<Path> bundles = new ArrayList<>();
        Map<String, Class<? extends MessageHandler>> handlers = new LinkedHashMap<>();
        List<String> sharing = new ArrayList<>();
        Map<String, String> published = new LinkedHashMap<>();
        for (String argument : arguments) {
            String[] words = argument.split(" ", 2);
            switch (words[0]) {
                case BUNDLE -> bundles.add(Path.of(words[1]));
                case HANDLER -> {
                    String[] parts = words[1].split(" ");
                    handlers.put(parts[0], Class.forName(parts[1]).asSubclass(MessageHandler.class));
                }
                case SHARING -> sharing.add(words[1]);
                default -> published.put(words[0], words[1]);
            }
        }
        return new WorkerSetup(
                bundles,
                Map.of(),
                handlers,
                DeviceSettings.ofPublished(published).withSharing(sharing));
    }
}
