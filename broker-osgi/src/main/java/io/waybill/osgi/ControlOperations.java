package io.waybill.osgi;

import io.waybill.api.ErrorCode;
import io.waybill.api.Message;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Value;
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
import io.waybill.osgi.script.ScriptStatus;
import io.waybill.tool.ToolCommands;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Supplier;

/**
 * The control operations that an operator's command calls by name.
 *
 * <pre>
 * control:bundle.list                     {bundles: [{name, version, kind, state, since, sha256, source, problem, stuck,
 *                                          failures, policy, replaced, stopped}],
 *                                          refused: [{path, problem}], absentPolicies: [{name, version}],
 *                                          running: {operation, since}, or none}
 * control:bundle.install    path          {bundle: {…}}
 * control:bundle.update     path, [name]  {bundle: {…}}
 * control:bundle.start      name          {bundle: {…}}
 * control:bundle.stop       name          {bundle: {…}}
 * control:bundle.uninstall  name          {bundle: {…}}
 * control:handlers.list                   {handlers: [{key, state, provider, version, since, nonBlocking, inFlight, parked, done, failed,
 *                                          stuck}]}
 * control:scripts.list                    {scripts: [{module, source, sha256, since, functions: [schema], problem}]}
 * control:loaders.leaked    seconds       {loaders: [{name, version, since, ageMs}]}
 * </pre>
 *
 * Times are nanoseconds since 1970. A refused operation responds with {@link ErrorCode#REFUSED} and the text for the
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
        publish(
                "control:bundle.list",
                (message, outbox) -> outbox.response()
                        .value("bundles", listBundles())
                        .value("refused", listRefused())
                        .value("absentPolicies", listAbsentPolicies())
                        .value(
                                "running",
                                bundles.running().map(ControlOperations::value).orElse(Value.NONE)));
        publish("control:handlers.list", (message, outbox) -> outbox.response().value("handlers", listHandlers()));
        publish("control:scripts.list", (message, outbox) -> outbox.response().value("scripts", listScripts()));
        publish(
                "control:loaders.leaked",
                (message, outbox) -> outbox.response().value("loaders", listLeaks(message.int64("seconds"))));
    }

    /** Publishes the operations that change bundles, after the node has started. */
    void open() {
        publish(
                "control:bundle.install",
                (message, outbox) ->
                        outbox.response().value("bundle", bundle(message, asked -> bundles.install(path(asked)))));
        publish(
                "control:bundle.update",
                (message, outbox) -> outbox.response().value("bundle", bundle(message, this::update)));
        publish(
                "control:bundle.start",
                (message, outbox) ->
                        outbox.response().value("bundle", bundle(message, asked -> bundles.start(asked.text("name")))));
        publish(
                "control:bundle.stop",
                (message, outbox) ->
                        outbox.response().value("bundle", bundle(message, asked -> bundles.stop(asked.text("name")))));
        publish(
                "control:bundle.uninstall",
                (message, outbox) -> outbox.response()
                        .value("bundle", bundle(message, asked -> bundles.uninstall(asked.text("name")))));
    }

    @Override
    public void close() {
        CloseSteps steps = new CloseSteps();
        registrations.forEach(registration -> steps.attempt(() -> registration.withdraw(CLOSE_LIMIT)));
        steps.attempt(() -> executor.close(CLOSE_LIMIT)).finishUnchecked();
    }

    private void publish(String key, MessageHandler handler) {
        registrations.add(handlers.add(HandlerSpec.of(HandlerKey.parse(key), handler, self, executor)));
    }

    private interface Operation {
        BundleStatus run(Message message) throws BundleRefusedException, RejectedMessageException;
    }

    private Value bundle(Message message, Operation operation) throws RejectedMessageException {
        try {
            return value(operation.run(message));
        } catch (BundleRefusedException e) {
            throw new RejectedMessageException(ErrorCode.REFUSED, e.getMessage(), e);
        }
    }

    private BundleStatus update(Message message) throws BundleRefusedException, RejectedMessageException {
        boolean named = message.invocation().named().containsKey("name");
        return named ? bundles.update(message.text("name"), path(message)) : bundles.update(path(message));
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

    private Value listBundles() {
        return new Value.Items(bundles.list().stream().map(this::value).toList());
    }

    private Value listRefused() {
        List<Value> files = new ArrayList<>();
        refused.get().forEach((path, problem) -> {
            Map<Value, Value> fields = new LinkedHashMap<>();
            put(fields, "path", Value.of(path.toString()));
            put(fields, "problem", Value.of(problem));
            files.add(new Value.Dict(fields));
        });
        return new Value.Items(files);
    }

    private static Value value(BundleOperation operation) {
        Map<Value, Value> fields = new LinkedHashMap<>();
        put(fields, "operation", Value.of(operation.what()));
        put(fields, "since", Value.of(operation.sinceWallNs()));
        return new Value.Dict(fields);
    }

    private Value value(BundleStatus bundle) {
        Map<Value, Value> fields = new LinkedHashMap<>();
        put(fields, "name", Value.of(bundle.symbolicName()));
        put(fields, "version", Value.of(bundle.version()));
        put(fields, "kind", Value.of(bundle.kind().name()));
        put(fields, "state", Value.of(bundle.state().name()));
        put(fields, "since", Value.of(bundle.sinceWallNs()));
        put(fields, "sha256", Value.of(bundle.sha256()));
        put(fields, "source", Value.of(bundle.source()));
        Provider provider = new Provider(bundle.symbolicName(), bundle.version());
        Optional<String> problem = bundle.problem().or(() -> handlers.events().problem(provider.toString()));
        put(fields, "problem", problem.<Value>map(Value::of).orElse(Value.NONE));
        put(fields, "stuck", Value.of(stuckIn(provider)));
        put(fields, "failures", Value.of(handlers.errors().of(bundle.symbolicName())));
        put(fields, "policy", policyOf(bundle));
        put(fields, "replaced", bundle.replaced().<Value>map(Value::of).orElse(Value.NONE));
        put(
                fields,
                "stopped",
                new Value.Items(bundle.stopped().stream().<Value>map(Value::of).toList()));
        return new Value.Dict(fields);
    }

    /** Returns the state of the bundle's access policies; a single absent one makes requests wait. */
    private Value policyOf(BundleStatus bundle) {
        List<InstalledPolicy> own = required().stream()
                .filter(policy -> policy.provider().name().equals(bundle.symbolicName()))
                .toList();
        if (own.isEmpty()) {
            return Value.NONE;
        }
        return Value.of(own.stream().anyMatch(InstalledPolicy::isAway) ? "AWAY" : "ASKED");
    }

    /** Returns the bundles whose policies are absent. Some of them may be missing from the list of bundles. */
    private Value listAbsentPolicies() {
        List<Value> away = new ArrayList<>();
        required().stream()
                .filter(InstalledPolicy::isAway)
                .map(InstalledPolicy::provider)
                .distinct()
                .forEach(provider -> {
                    Map<Value, Value> fields = new LinkedHashMap<>();
                    put(fields, "name", Value.of(provider.name()));
                    put(fields, "version", Value.of(provider.version()));
                    away.add(new Value.Dict(fields));
                });
        return new Value.Items(away);
    }

    private List<InstalledPolicy> required() {
        AccessPolicies.Required now = handlers.policies().current();
        return now == null ? List.of() : now.policies();
    }

    private long stuckIn(Provider provider) {
        long stuckHandlers = handlers.statuses().stream()
                .filter(status -> status.provider().equals(provider))
                .mapToLong(HandlerStatus::stuck)
                .sum();
        return stuckHandlers + tools.stuck(provider);
    }

    private Value listHandlers() {
        return new Value.Items(
                handlers.statuses().stream().map(ControlOperations::value).toList());
    }

    private static Value value(HandlerStatus handler) {
        Map<Value, Value> fields = new LinkedHashMap<>();
        put(fields, "key", Value.of(handler.key().text()));
        put(fields, "state", Value.of(handler.state().name()));
        put(fields, "provider", Value.of(handler.provider().name()));
        put(fields, "version", Value.of(handler.provider().version()));
        put(fields, "since", Value.of(handler.sinceWallNs()));
        put(fields, "nonBlocking", Value.of(handler.nonBlocking()));
        put(fields, "delivery", Value.of(handler.delivery().text()));
        put(fields, "inFlight", Value.of(handler.inFlight()));
        put(fields, "parked", Value.of(handler.parked()));
        put(fields, "done", Value.of(handler.done()));
        put(fields, "failed", Value.of(handler.failed()));
        put(fields, "stuck", Value.of(handler.stuck()));
        return new Value.Dict(fields);
    }

    private Value listScripts() {
        return new Value.Items(
                scripts.list().stream().map(ControlOperations::value).toList());
    }

    private static Value value(ScriptStatus script) {
        Map<Value, Value> fields = new LinkedHashMap<>();
        put(fields, "module", Value.of(script.module()));
        put(fields, "source", Value.of(script.origin()));
        put(fields, "sha256", Value.of(script.sha256()));
        put(fields, "since", Value.of(script.sinceWallNs()));
        put(
                fields,
                "functions",
                new Value.Items(script.schemas().stream().<Value>map(Value::of).toList()));
        put(fields, "problem", script.problem().<Value>map(Value::of).orElse(Value.NONE));
        return new Value.Dict(fields);
    }

    private Value listLeaks(long seconds) {
        List<Value> leaks = new ArrayList<>();
        for (LoaderWatch.Leak leak : loaders.leaked(Duration.ofSeconds(Math.max(0, seconds)))) {
            Map<Value, Value> fields = new LinkedHashMap<>();
            put(fields, "name", Value.of(leak.bundle()));
            put(fields, "version", Value.of(leak.version()));
            put(fields, "since", Value.of(leak.retiredWallNs()));
            put(fields, "ageMs", Value.of(leak.age().toMillis()));
            leaks.add(new Value.Dict(fields));
        }
        return new Value.Items(leaks);
    }

    private static void put(Map<Value, Value> fields, String name, Value value) {
        fields.put(Value.of(name), value);
    }
}
