package io.waybill.osgi;

import io.waybill.api.admin.ScriptInfo;
import io.waybill.api.handler.MessageHandler;
import io.waybill.broker.Brokers;
import io.waybill.dispatch.ExecutorSettings;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.host.Clock;
import io.waybill.host.Host;
import io.waybill.host.Threads;
import io.waybill.host.failure.CloseSteps;
import io.waybill.intercept.InterceptorRegistry;
import io.waybill.osgi.guard.ExitGuard;
import io.waybill.osgi.guard.StartLevels;
import io.waybill.osgi.guard.UnrecordedInputGuard;
import io.waybill.osgi.jar.KeptJars;
import io.waybill.osgi.jar.ShippedBundles;
import io.waybill.osgi.jar.Staging;
import io.waybill.osgi.log.FrameworkLog;
import io.waybill.osgi.log.ServiceLog;
import io.waybill.osgi.script.ScriptBundles;
import io.waybill.osgi.script.ScriptDirectory;
import io.waybill.osgi.script.ScriptShelf;
import io.waybill.osgi.script.ScriptStaging;
import io.waybill.osgi.watch.HandlerWatch;
import io.waybill.osgi.whiteboard.BrokerService;
import io.waybill.osgi.whiteboard.DeviceConverters;
import io.waybill.osgi.whiteboard.ServiceWhiteboards;
import io.waybill.tool.ToolCommands;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.felix.framework.FrameworkFactory;
import org.apache.felix.framework.util.FelixConstants;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleContext;
import org.osgi.framework.BundleException;
import org.osgi.framework.Constants;
import org.osgi.framework.FrameworkEvent;
import org.osgi.framework.hooks.resolver.ResolverHookFactory;
import org.osgi.framework.hooks.service.EventListenerHook;
import org.osgi.framework.hooks.service.FindHook;
import org.osgi.framework.hooks.weaving.WeavingHook;
import org.osgi.framework.launch.Framework;
import org.osgi.framework.startlevel.FrameworkStartLevel;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The OSGi framework of a node, from its start to its end.
 *
 * <p>When {@link #start} returns, the node's own bundles and those in the watched directory were started or rejected.
 * Until then the registry expects handlers, so that requests wait for them; a node that joins its home earlier sets
 * this in the registry itself.
 *
 * <p><b>Threads.</b> Any. Three threads of the framework scan directories. <b>Ownership.</b> Its creator closes it,
 * after the worker's last request: closing drains the handlers.
 */
public final class OsgiHost implements AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(OsgiHost.class);
    private static final Duration FRAMEWORK_LIMIT = Duration.ofSeconds(30);
    private static final int LAST_LEVEL = 1000;

    private final OsgiSettings settings;
    private final Framework framework;
    private final ServiceWhiteboards services;
    private final ToolCommands tools;
    private final BundleSteps steps;
    private final LoaderWatch loaders;
    private final KeptJars kept;
    private final BundleControl bundles;
    private final OwnBundles own;
    private final BundleDirectory watched;
    private final ConfDirectory conf;
    private final ScriptShelf scripts;
    private final ScriptBundles scriptBundles;
    private final ScriptDirectory scriptFiles;
    private final ControlOperations operations;
    private final List<PeriodicCheck> check = new ArrayList<>();

    /** Starts a framework without {@link io.waybill.api.broker.Broker}s and without calls of interceptors. */
    public static OsgiHost start(
            OsgiSettings settings, HandlerRegistry registry, DeviceConverters converters, Host machine)
            throws IOException {
        InterceptorRegistry uncalled = new InterceptorRegistry(machine, registry.errors());
        return start(settings, registry, converters, uncalled, Optional.empty(), machine);
    }

    /**
     * Starts a framework.
     *
     * @param interceptors registry for the interceptors of bundles
     * @param brokers source of one {@link io.waybill.api.broker.Broker} for each bundle that uses it
     * @throws IOException if one of the directories can't be created or read
     * @throws IllegalStateException if the framework or a system bundle does not start
     * @throws CancellationException if {@link OsgiSettings#startCancelled} requested it; everything is closed again in
     *     this case
     */
    public static OsgiHost start(
            OsgiSettings settings,
            HandlerRegistry registry,
            DeviceConverters converters,
            InterceptorRegistry interceptors,
            Optional<Brokers> brokers,
            Host machine)
            throws IOException {
        Staging.createPrivate(settings.cache());
        Staging staging = new Staging(settings.cache().resolve("staging"), OsgiSettings.MAX_JAR_BYTES);
        Framework framework = new FrameworkFactory().newFramework(properties(settings));
        OsgiHost host = null;
        registry.expectMore();
        registry.policies().expectMore(true);
        try {
            framework.init();
            brokers.ifPresent(given -> BrokerService.register(framework.getBundleContext(), given));
            host = new OsgiHost(settings, framework, staging, registry, converters, interceptors, machine);
            host.run(machine);
            return host;
        } catch (BundleException | RuntimeException | IOException | Error e) {
            OsgiHost begun = host;
            new CloseSteps()
                    .attempt(begun != null ? begun::close : () -> stop(framework, FRAMEWORK_LIMIT))
                    .suppressIn(e);
            if (e instanceof Error error) {
                throw error;
            }
            if (e instanceof IOException io) {
                throw io;
            }
            if (e instanceof CancellationException cancelled) {
                throw cancelled;
            }
            throw new IllegalStateException(
                    "the OSGi framework does not start: " + BoundedStep.innermost(e)
                            + Staging.whyNoDirectory(settings.cache()),
                    e);
        } finally {
            registry.policies().expectMore(false);
            registry.expectNoMore();
        }
    }

    private OsgiHost(
            OsgiSettings settings,
            Framework framework,
            Staging staging,
            HandlerRegistry registry,
            DeviceConverters deviceConverters,
            InterceptorRegistry interceptors,
            Host machine)
            throws IOException {
        Threads threads = machine.threads();
        Clock clock = machine.clock();
        this.settings = settings;
        this.framework = framework;
        BundleContext context = framework.getBundleContext();
        ExecutorSettings executors =
                ExecutorSettings.forProcessors(Runtime.getRuntime().availableProcessors());
        loaders = new LoaderWatch(clock);
        tools = new ToolCommands(registry, machine);
        services = new ServiceWhiteboards(
                context, registry, deviceConverters, interceptors, tools, executors, settings.drainLimit(), clock);
        ScriptStaging scriptStaging =
                new ScriptStaging(privateDirectory(settings.cache().resolve("scripts")));
        scripts = new ScriptShelf(context, scriptStaging, clock);
        scriptBundles = new ScriptBundles(context, scripts, scriptStaging);
        scriptFiles =
                new ScriptDirectory(privateDirectory(settings.scripts()), machine.files(), scriptStaging, scripts);
        ComponentCheck components = new ComponentCheck(context, services.problems(), scriptBundles, threads, clock);
        ConfigurationKeys keys = new ConfigurationKeys(context);
        steps = new BundleSteps(context, settings, threads, components, keys, services, registry.policies(), loaders);
        kept = new KeptJars(settings.installed());
        bundles = new BundleControl(context, staging, kept, steps, machine);
        own = new OwnBundles(staging, bundles, steps);
        watched = new BundleDirectory(settings, staging, bundles, kept);
        conf = new ConfDirectory(settings.conf(), context, keys, bundles::configured);
        String version = SystemPackages.exportedVersion(MessageHandler.class);
        operations =
                new ControlOperations(bundles, this::refused, scripts, registry, tools, loaders, version, executors);
    }

    private static Path privateDirectory(Path directory) throws IOException {
        if (!Files.isDirectory(directory)) {
            Staging.createPrivate(directory);
        }
        return directory;
    }

    /** Returns the control of the handler and system bundles. */
    public BundleControl bundles() {
        return bundles;
    }

    /** Returns the rejected jars of the watched directory and the rejected files of settings, with the reasons. */
    public Map<Path, String> refusedFiles() {
        Map<Path, String> refused = new TreeMap<>(watched.problems());
        refused.putAll(conf.problems());
        return refused;
    }

    /** Returns the bundles, shipped or installed earlier, that did not start or wait, with the reasons. */
    public Map<Path, String> notStarted() {
        Map<Path, String> reasons = bundles.waiting().files();
        reasons.putAll(own.notStarted());
        return reasons;
    }

    /** Sets the listener that is notified of changes of {@link #notStarted}; it must not block. */
    public void onNotStartedChange(Runnable listener) {
        own.onChange(listener);
        bundles.waiting().onChange(listener);
    }

    private Map<Path, String> refused() {
        Map<Path, String> refused = new TreeMap<>(own.notStarted());
        refused.putAll(refusedFiles());
        return refused;
    }

    /** Returns the scripts, with their problems. */
    public List<ScriptInfo> scripts() {
        return scripts.list();
    }

    /** Returns the class loaders that should be unreachable. */
    public LoaderWatch loaders() {
        return loaders;
    }

    /** Drains and stops every bundle, in the order of start levels, and stops the framework. */
    @Override
    public void close() {
        CloseSteps steps = new CloseSteps();
        check.forEach(each -> steps.attempt(each::end));
        steps.attempt(bundles::close)
                .attempt(operations::close)
                .attempt(() -> stop(framework, settings.drainLimit().plus(FRAMEWORK_LIMIT)))
                .attempt(scriptBundles::close)
                .attempt(services::close)
                .attempt(tools::close)
                .finishUnchecked();
    }

    private void run(Host machine) throws BundleException, IOException {
        BundleContext context = framework.getBundleContext();
        context.registerService(WeavingHook.class, new ExitGuard(), null);
        if (settings.unrecordedInputs() == OsgiSettings.UnrecordedInputs.NOTED) {
            context.registerService(WeavingHook.class, new UnrecordedInputGuard(), null);
        }
        context.registerService(ResolverHookFactory.class, new CandidateHook(), null);
        context.registerService(
                new String[] {FindHook.class.getName(), EventListenerHook.class.getName()}, new SideBySide(), null);
        context.registerService(org.osgi.service.log.LoggerFactory.class, new ServiceLog(), null);
        services.open();
        scriptBundles.open();
        List<ShippedBundles.Jar> shipped = settings.shipped().in(settings.bundles());
        for (ShippedBundles.Jar jar : shipped) {
            if (jar.startLevel() < StartLevels.FIRST_HANDLER_LEVEL) {
                installSystem(context, jar);
            }
        }
        settings.requireNotCancelled();
        framework.start();
        reach(StartLevels.FIRST_HANDLER_LEVEL - 1);
        requireSystemActive(context);
        conf.look();
        // no bundle is installed yet: later ones have the level of handler bundles and run as soon as they are started
        framework.adapt(FrameworkStartLevel.class).setInitialBundleStartLevel(StartLevels.FIRST_HANDLER_LEVEL);
        reach(LAST_LEVEL);
        for (ShippedBundles.Jar jar : shipped) {
            if (jar.startLevel() >= StartLevels.FIRST_HANDLER_LEVEL) {
                settings.requireNotCancelled();
                own.installShipped(jar);
            }
        }
        for (Path jar : kept.jars()) {
            settings.requireNotCancelled();
            own.installKept(jar);
        }
        watched.lookAtStart();
        own.retry();
        bundles.started();
        watched.problems().keySet().forEach(steps::requirePoliciesIn);
        scriptFiles.lookAtStart();
        check.add(new PeriodicCheck(machine, "waybill-script-watch", settings.lookInterval(), scriptFiles::look));
        check.add(new PeriodicCheck(machine, "waybill-conf-watch", settings.lookInterval(), conf::look));
        check.add(new PeriodicCheck(machine, "waybill-bundle-watch", settings.lookInterval(), () -> {
            bundles.look();
            own.look();
            watched.look();
        }));
        operations.open();
    }

    private static Map<String, String> baseProperties(OsgiSettings settings) {
        Map<String, String> properties = new HashMap<>();
        // One cache per Java version: a cache from another version can lack classes.
        String javaVersion = "java-" + Runtime.version().feature();
        properties.put(
                Constants.FRAMEWORK_STORAGE,
                settings.cache()
                        .resolve("framework")
                        .resolve(javaVersion)
                        .toAbsolutePath()
                        .toString());
        properties.put(Constants.FRAMEWORK_STORAGE_CLEAN, Constants.FRAMEWORK_STORAGE_CLEAN_ONFIRSTINIT);
        properties.put(Constants.FRAMEWORK_SYSTEMPACKAGES_EXTRA, systemPackages(settings));
        properties.put(Constants.FRAMEWORK_BSNVERSION, Constants.FRAMEWORK_BSNVERSION_MULTIPLE);
        properties.put(Constants.FRAMEWORK_BEGINNING_STARTLEVEL, "1");
        properties.put(FelixConstants.IMPLICIT_BOOT_DELEGATION_PROP, "false");
        properties.put(FelixConstants.SERVICE_URLHANDLERS_PROP, "false");
        properties.put("felix.shutdown.hook", "false");
        return properties;
    }

    private static String systemPackages(OsgiSettings settings) {
        return settings.unrecordedInputs() == OsgiSettings.UnrecordedInputs.NOTED
                ? SystemPackages.extra() + "," + HandlerWatch.class.getPackageName()
                : SystemPackages.extra();
    }

    private static Map<String, Object> properties(OsgiSettings settings) {
        Map<String, String> texts = baseProperties(settings);
        texts.putAll(settings.framework());
        String ownPackages = settings.framework().get(Constants.FRAMEWORK_SYSTEMPACKAGES_EXTRA);
        if (ownPackages != null) { // adds to the list: without the API no bundle would resolve
            texts.put(Constants.FRAMEWORK_SYSTEMPACKAGES_EXTRA, systemPackages(settings) + "," + ownPackages);
        }
        Map<String, Object> properties = new HashMap<>(texts);
        properties.put(FelixConstants.LOG_LOGGER_PROP, new FrameworkLog());
        properties.put(FelixConstants.LOG_LEVEL_PROP, texts.getOrDefault(FelixConstants.LOG_LEVEL_PROP, "3"));
        return properties;
    }

    private static void installSystem(BundleContext context, ShippedBundles.Jar jar)
            throws BundleException, IOException {
        try (var in = Files.newInputStream(jar.path())) {
            Bundle bundle = context.installBundle(jar.path().toUri().toString(), in);
            StartLevels.set(bundle, jar.startLevel());
            if (bundle.getHeaders().get(Constants.FRAGMENT_HOST) == null) {
                bundle.start(); // marks it for start when its level is reached
            }
        }
    }

    private void reach(int startLevel) {
        CountDownLatch reached = new CountDownLatch(1);
        framework.adapt(FrameworkStartLevel.class).setStartLevel(startLevel, event -> {
            if (event.getType() == FrameworkEvent.STARTLEVEL_CHANGED) {
                reached.countDown();
            }
        });
        try {
            if (!reached.await(FRAMEWORK_LIMIT.toNanos(), TimeUnit.NANOSECONDS)) {
                throw new IllegalStateException(
                        "its bundles did not start within " + FRAMEWORK_LIMIT.toSeconds() + " s");
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while it started", e);
        }
    }

    private static void requireSystemActive(BundleContext context) {
        for (Bundle bundle : context.getBundles()) {
            boolean fragment = bundle.getHeaders().get(Constants.FRAGMENT_HOST) != null;
            if (StartLevels.isSystem(bundle) && !fragment && bundle.getState() != Bundle.ACTIVE) {
                throw new IllegalStateException(bundle.getSymbolicName() + " is not active; see the log for why");
            }
        }
    }

    private static void stop(Framework framework, Duration limit) {
        try {
            framework.stop();
            FrameworkEvent event = framework.waitForStop(limit.toMillis());
            if (event.getType() == FrameworkEvent.WAIT_TIMEDOUT) {
                LOG.warn("The OSGi framework did not stop within {} ms", limit.toMillis());
            }
        } catch (BundleException e) {
            LOG.warn("The OSGi framework does not stop", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
