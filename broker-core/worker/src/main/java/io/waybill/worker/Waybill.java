package io.waybill.worker;

import io.waybill.api.broker.Broker;
import io.waybill.api.device.DeviceConverter;
import io.waybill.api.event.CallEvents;
import io.waybill.api.handler.Delivery;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.handler.OperationDescription;
import io.waybill.api.intercept.CallInterceptor;
import io.waybill.api.intercept.HandlerInterceptor;
import io.waybill.api.policy.AccessPolicy;
import io.waybill.api.tensor.Device;
import io.waybill.api.tool.ToolCommand;
import io.waybill.device.DeviceSettings;
import io.waybill.dispatch.DeliveryPolicy;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.home.Home;
import io.waybill.home.JoinOptions;
import io.waybill.home.error.NameTakenException;
import io.waybill.host.Host;
import io.waybill.journal.ChronicleFlags;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Consumer;
import java.util.function.Function;

/**
 * Entry point of a program without OSGi: joins a home as a worker, with the extensions that a node gets from bundles.
 *
 * <pre>{@code
 * try (Worker worker = Waybill.connect(Path.of("/var/waybill"), "client").join()) {
 *     worker.call(Request.operation("server", "text.count")).close();
 * }
 * }</pre>
 *
 * <p>An extension is an object that implements one or more of {@link MessageHandler}, {@link CallInterceptor},
 * {@link HandlerInterceptor}, {@link AccessPolicy}, {@link DeviceConverter}, {@link CallEvents} and
 * {@link ToolCommand}. Its scope is read from the annotations of its class, which are those of a bundle's component. A
 * component of a bundle therefore works here unchanged.
 *
 * <p><b>Threads.</b> One at a time. <b>Ownership.</b> The program owns its extensions, and closes the worker; they are
 * not called after that.
 */
public final class Waybill {

    private final Path path; // null when the home is open
    private final String name;
    private final List<Consumer<ProgramExtensions>> extensions = new ArrayList<>();
    private Home home; // null until it is opened
    private JoinOptions options = JoinOptions.defaults();
    private WorkerSettings settings = WorkerSettings.defaults();

    private Waybill(Path path, Home home, String name) {
        this.path = path;
        this.home = home;
        this.name = Objects.requireNonNull(name);
    }

    /**
     * Prepares to join a home under a name.
     *
     * @param home is created if it does not exist
     */
    public static Waybill connect(Path home, String name) {
        return new Waybill(Objects.requireNonNull(home), null, name);
    }

    /** Prepares to join an open home under a name. */
    public static Waybill connect(Home home, String name) {
        return new Waybill(null, Objects.requireNonNull(home), name);
    }

    /**
     * Adds an extension, as the annotations of its class declare.
     *
     * @throws IllegalArgumentException when it is no extension, or a handler or converter without an annotation
     */
    public Waybill with(Object extension) {
        ProgramExtensions.requireUsable(extension);
        extensions.add(installed -> installed.add(extension));
        return this;
    }

    /** Adds an access policy. */
    public Waybill with(AccessPolicy policy) {
        return with((Object) policy);
    }

    /**
     * Adds a handler.
     *
     * @param key of the requests that it handles, such as {@code text.count}, {@code text.*} or {@code SCRIPT_CALL}
     * @throws IllegalArgumentException when it is no key
     */
    public Waybill with(String key, MessageHandler handler) {
        Objects.requireNonNull(handler);
        ProgramExtensions.handlerKeys(key);
        List<OperationDescription> declared = ProgramExtensions.declaredFor(key, handler);
        extensions.add(installed -> installed.addHandler(handler, null, declared, key));
        return this;
    }

    /**
     * Adds a handler of the described operation.
     *
     * @param operation its name is the key of the handler
     * @throws IllegalArgumentException when the name is no key
     */
    public Waybill with(OperationDescription operation, MessageHandler handler) {
        Objects.requireNonNull(handler);
        ProgramExtensions.handlerKeys(operation.name());
        extensions.add(installed -> installed.addHandler(handler, null, List.of(operation), operation.name()));
        return this;
    }

    /**
     * Adds a handler with a delivery guarantee, which a lambda can't declare by an annotation.
     *
     * @param delivery {@link Delivery#AT_MOST_ONCE} or {@link Delivery#AT_LEAST_ONCE}; replaces the annotation of the
     *     handler's class
     * @throws IllegalArgumentException when the key is no key, or the delivery is none
     */
    public Waybill with(String key, MessageHandler handler, String delivery) {
        Objects.requireNonNull(handler);
        ProgramExtensions.handlerKeys(key);
        DeliveryPolicy policy = DeliveryPolicy.parse(delivery);
        List<OperationDescription> declared = ProgramExtensions.declaredFor(key, handler);
        extensions.add(installed -> installed.addHandler(handler, policy, declared, key));
        return this;
    }

    /**
     * Adds an extension that needs the worker's broker, such as {@code Audit::new}.
     *
     * @param extension is called once by {@link #join}, when the worker can call; returns an argument for
     *     {@link #with(Object)}
     */
    public Waybill withBroker(Function<? super Broker, ?> extension) {
        Objects.requireNonNull(extension);
        extensions.add(
                installed -> installed.add(extension.apply(installed.worker().broker())));
        return this;
    }

    /** Sets the settings of the worker. */
    public Waybill settings(WorkerSettings other) {
        settings = Objects.requireNonNull(other);
        return this;
    }

    /** Declares the devices of the worker. They are part of its settings, so set those first. */
    public Waybill devices(Device... all) {
        return devices(settings.devices().withDevices(List.of(all)));
    }

    /**
     * Adds to the device map for a peer, which maps this worker's devices to the peer's devices on which tensors in
     * requests arrive. The peer's responses are mapped back. Part of the settings, so set those first.
     *
     * @param map the peer's device for each of this worker's
     * @throws IllegalArgumentException when a device is mapped to another one already, or two of them to the same
     */
    public Waybill deviceMap(String peer, Map<Device, Device> map) {
        return devices(settings.devices().withMap(peer, map));
    }

    /**
     * Lets peers use tensors in the device memory where this worker has them, in place of copies, if their converter
     * can. A tensor that was sent so must not be written to any more, by either side. Part of the settings, so set
     * those first.
     */
    public Waybill shareDevices(String... peers) {
        return devices(settings.devices().withSharing(List.of(peers)));
    }

    private Waybill devices(DeviceSettings devices) {
        return settings(settings.toBuilder().devices(devices).build());
    }

    /** Sets the options of the join. */
    public Waybill options(JoinOptions other) {
        options = Objects.requireNonNull(other);
        return this;
    }

    /**
     * Joins. No request is served before all extensions are in place; requests that arrive meanwhile wait. The worker
     * is {@linkplain Worker#ready ready} when this returns.
     *
     * @throws IllegalStateException when the JVM lacks a flag; the text is one sentence that names it
     * @throws IllegalArgumentException when an extension can't be used, such as a handler with
     *     {@link WorkerSettings.Role#CALLS_ONLY}, or a device map does not fit
     * @throws io.waybill.home.error.NameTakenException when a live worker has the name
     * @throws IOException when the home or the worker's directory can't be used
     */
    public Worker join() throws IOException {
        return join(name, options);
    }

    /**
     * Joins under the name or, while live workers have it, under the name with {@code -2}, {@code -3} and so on: for
     * short-lived callers of one program, which share a few names, ids and journals instead of leaving their own
     * behind. {@link Worker#info} contains the name.
     *
     * @param max number of names, at least 1
     * @throws IllegalArgumentException when an extension can't be used, a device map does not fit, or {@code max} is
     *     less than 1
     * @throws io.waybill.home.error.NameTakenException when live workers have all the names
     * @throws IOException when the home or the worker's directory can't be used
     */
    public Worker joinAnyOf(int max) throws IOException {
        if (max < 1) {
            throw new IllegalArgumentException("a worker joins under one of at least 1 name: " + max);
        }
        JoinOptions atOnce = options.withLockWaitNs(0);
        for (int n = 1; ; n++) {
            try {
                return join(n == 1 ? name : name + "-" + n, atOnce);
            } catch (NameTakenException e) {
                if (n == max) {
                    throw e;
                }
            }
        }
    }

    private Worker join(String name, JoinOptions options) throws IOException {
        ChronicleFlags.require();
        if (home == null) {
            home = Home.open(path, Host.real());
        }
        Host host = home.host();
        HandlerRegistry registry = new HandlerRegistry(settings.parking(), host.threads(), host.clock());
        registry.expectMore();
        registry.policies().expectMore(true);
        Worker worker = Worker.join(home, name, options, settings, registry);
        try {
            boolean serves = settings.role() == WorkerSettings.Role.SERVES;
            ProgramExtensions installed = new ProgramExtensions(worker, registry, serves);
            worker.closesLast(installed);
            extensions.forEach(each -> each.accept(installed));
            registry.policies().expectMore(false);
            registry.expectNoMore();
            worker.ready(Map.of());
            return worker;
        } catch (Throwable e) { // also from an extension: the name must be released
            worker.closeAfter(e);
            throw e;
        }
    }
}
