package io.waybill.osgi;

import io.waybill.api.ErrorCode;
import io.waybill.api.Message;
import io.waybill.api.RecordCodec;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Value;
import io.waybill.api.admin.Admin;
import io.waybill.api.admin.BundleInfo;
import io.waybill.api.admin.BundleList;
import io.waybill.api.admin.Canary;
import io.waybill.api.admin.HandlerInfo;
import io.waybill.api.admin.LoaderInfo;
import io.waybill.api.admin.ScriptInfo;
import io.waybill.api.handler.MessageHandler;
import io.waybill.dispatch.AccessPolicies;
import io.waybill.dispatch.ExecutorSettings;
import io.waybill.dispatch.HandlerExecutor;
import io.waybill.dispatch.HandlerKey;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.HandlerSpec;
import io.waybill.dispatch.HandlerStatus;
import io.waybill.dispatch.InstalledPolicy;
import io.waybill.dispatch.Provider;
import io.waybill.host.failure.CloseSteps;
import io.waybill.osgi.jar.BundleRefusedException;
import io.waybill.osgi.script.ScriptShelf;
import io.waybill.osgi.whiteboard.RequiredBundlePolicy;
import io.waybill.tool.ToolCommands;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Supplier;
import java.util.function.ToLongFunction;
import java.util.stream.Stream;

/**
 * The control operations that an operator's command calls by name.
 *
 * <pre>
 * control:bundle.list                     {@link BundleList}
 * control:bundle.install    path          {bundle: {@link BundleInfo}}
 * control:bundle.update     path, [name]  {bundle: {@link BundleInfo}}
 * control:bundle.start      name          {bundle: {@link BundleInfo}}
 * control:bundle.stop       name          {bundle: {@link BundleInfo}}
 * control:bundle.uninstall  name          {bundle: {@link BundleInfo}}
 * control:handlers.list                   {handlers: list of {@link HandlerInfo}}
 * control:scripts.list                    {scripts: list of {@link ScriptInfo}}
 * control:loaders.leaked    seconds       {loaders: list of {@link LoaderInfo}}
 * </pre>
 *
 * {@link RecordCodec} converts the records, and {@link Admin} makes the calls. A refused operation responds with {@link ErrorCode#REFUSED} and the text for the
 * operator.
 *
 * Operations that change bundles are published by {@link #open} only: requests for them wait while the node starts.
 *
 * <p><b>Threads.</b> Any; operations run on their own threads, because they may last as long as a bundle takes to drain
 * and to start.
 */
final class ControlOperations implements AutoCloseable {

    private static final Duration CLOSE_LIMIT = Duration.ofSeconds(1);

    private final BundleControl bundles;
    private final Supplier<Map<Path, String>> refused;
    private final ScriptShelf scripts;
    private final HandlerRegistry handlers;
    private final ToolCommands tools;
    private final LoaderWatch loaders;
    private final HandlerExecutor executor;
    private final Provider self;
    private final List<HandlerRegistry.Registration> registrations = new CopyOnWriteArrayList<>();

    ControlOperations(
            BundleControl bundles,
            Supplier<Map<Path, String>> refused,
            ScriptShelf scripts,
            HandlerRegistry handlers,
            ToolCommands tools,
            LoaderWatch loaders,
            String version,
            ExecutorSettings executorSettings) {
        this.bundles = bundles;
        this.refused = refused;
        this.scripts = scripts;
        this.handlers = handlers;
        this.tools = tools;
        this.loaders = loaders;
        this.self = new Provider("waybill", version);
        this.executor = handlers.newExecutor(self, executorSettings);
        publish("control:bundle.list", message -> listBundles());
        publish(
                "control:handlers.list",
                message -> new HandlerList(handlers.statuses().stream()
                        .map(ControlOperations::info)
                        .toList()));
        publish("control:scripts.list", message -> new ScriptList(scripts.list()));
        publish("control:loaders.leaked", message -> new LoaderList(leaked(message.int64("seconds"))));
    }

    /** Publishes the operations that change bundles, after the node has started. */
    void open() {
        publishChange("install", message -> bundles.install(path(message)));
        publishChange("update", this::update);
        publishChange("promote", message -> bundles.promote(message.text("name")));
        publishChange("rollback", message -> bundles.rollBack(message.text("name")));
        publishChange("start", message -> bundles.start(message.text("name")));
        publishChange("stop", message -> bundles.stop(message.text("name")));
        publishChange("uninstall", message -> bundles.uninstall(message.text("name")));
    }

    @Override
    public void close() {
        CloseSteps steps = new CloseSteps();
        registrations.forEach(registration -> steps.attempt(() -> registration.withdraw(CLOSE_LIMIT)));
        steps.attempt(() -> executor.close(CLOSE_LIMIT)).finishUnchecked();
    }

    private record HandlerList(List<HandlerInfo> handlers) {}

    private record ScriptList(List<ScriptInfo> scripts) {}

    private record LoaderList(List<LoaderInfo> loaders) {}

    private record ChangedBundle(BundleInfo bundle) {}

    private interface Operation {
        Record run(Message message) throws RejectedMessageException;
    }

    private interface Change {
        BundleStatus run(Message message) throws BundleRefusedException, RejectedMessageException;
    }

    private void publish(String key, Operation operation) {
        MessageHandler handler = (message, outbox) -> outbox.response().fields(operation.run(message));
        registrations.add(handlers.add(HandlerSpec.of(HandlerKey.parse(key), handler, self, executor)));
    }

    private void publishChange(String name, Change change) {
        publish("control:bundle." + name, message -> {
            try {
                return new ChangedBundle(info(change.run(message)));
            } catch (BundleRefusedException e) {
                throw new RejectedMessageException(ErrorCode.REFUSED, e.getMessage(), e);
            }
        });
    }

    private BundleStatus update(Message message) throws BundleRefusedException, RejectedMessageException {
        Map<String, Value> given = message.invocation().named();
        if (given.containsKey("percent")) {
            Canary settings = new Canary(
                    message.float64("percent"),
                    text(message, "caller"),
                    text(message, "operation"),
                    text(message, "rollback_if"));
            return bundles.canary(path(message), settings);
        }
        boolean named = given.containsKey("name");
        return named ? bundles.update(message.text("name"), path(message)) : bundles.update(path(message));
    }

    private static Optional<String> text(Message message, String name) throws RejectedMessageException {
        return message.invocation().named().containsKey(name) ? Optional.of(message.text(name)) : Optional.empty();
    }

    private static Path path(Message message) throws RejectedMessageException {
        String text = message.text("path");
        try {
            Path path = Path.of(text);
            if (path.isAbsolute()) {
                return path.normalize();
            }
        } catch (InvalidPathException e) {
            throw new RejectedMessageException(ErrorCode.REFUSED, "no path: " + e.getMessage(), e);
        }
        throw new RejectedMessageException(
                ErrorCode.REFUSED, "the node has another directory than who calls it: a path must be absolute");
    }

    private List<LoaderInfo> leaked(long seconds) {
        return loaders.leaked(Duration.ofSeconds(Math.max(0, seconds)));
    }

    private BundleList listBundles() {
        List<BundleList.RefusedJar> refusedJars = new ArrayList<>();
        refused.get().forEach((path, problem) -> refusedJars.add(new BundleList.RefusedJar(path.toString(), problem)));
        return new BundleList(
                bundles.list().stream().map(this::info).toList(), refusedJars, absentPolicies(), bundles.running());
    }

    private BundleInfo info(BundleStatus bundle) {
        Provider provider = new Provider(bundle.symbolicName(), bundle.version());
        return new BundleInfo(
                bundle.symbolicName(),
                bundle.version(),
                bundle.kind(),
                bundle.state(),
                Optional.of(bundle.sinceWallNs()).filter(ns -> ns > 0).map(ControlOperations::time),
                bundle.sha256(),
                bundle.source(),
                bundle.problem().or(() -> handlers.events().problem(provider.toString())),
                bundle.share(),
                sum(provider, HandlerStatus::done),
                sum(provider, HandlerStatus::failed),
                sum(provider, HandlerStatus::stuck) + tools.stuck(provider),
                handlers.errors().of(bundle.symbolicName()),
                policyOf(bundle),
                bundle.replaced(),
                bundle.stopped());
    }

    /** Returns the state of the bundle's policies; a single absent one makes requests or jars wait. */
    private Optional<BundleInfo.Policy> policyOf(BundleStatus bundle) {
        Stream<Boolean> ofRequests = required().stream()
                .filter(policy -> policy.provider().name().equals(bundle.symbolicName()))
                .map(InstalledPolicy::isAway);
        Stream<Boolean> ofJars = bundles.policies().stream()
                .filter(policy -> policy.provider().name().equals(bundle.symbolicName()))
                .map(RequiredBundlePolicy::isAway);
        return Stream.concat(ofRequests, ofJars)
                .map(isAway -> isAway ? BundleInfo.Policy.AWAY : BundleInfo.Policy.ASKED)
                .max(Comparator.naturalOrder());
    }

    /** Returns the bundles whose policies are absent. Some of them may be missing from the list of bundles. */
    private List<BundleList.AbsentPolicy> absentPolicies() {
        return required().stream()
                .filter(InstalledPolicy::isAway)
                .map(InstalledPolicy::provider)
                .distinct()
                .map(provider -> new BundleList.AbsentPolicy(provider.name(), provider.version()))
                .toList();
    }

    private List<InstalledPolicy> required() {
        AccessPolicies.Required now = handlers.policies().current();
        return now == null ? List.of() : now.policies();
    }

    private long sum(Provider provider, ToLongFunction<HandlerStatus> count) {
        return handlers.statuses().stream()
                .filter(status -> status.provider().equals(provider))
                .mapToLong(count)
                .sum();
    }

    private static HandlerInfo info(HandlerStatus handler) {
        return new HandlerInfo(
                handler.key().text(),
                handler.state(),
                handler.provider().name(),
                handler.provider().version(),
                time(handler.sinceWallNs()),
                handler.nonBlocking(),
                handler.delivery().text(),
                handler.inFlight(),
                handler.parked(),
                handler.done(),
                handler.failed(),
                handler.stuck());
    }

    private static Instant time(long wallNs) {
        return Instant.ofEpochSecond(0, wallNs);
    }
}
