package io.waybill.api.admin;

import io.waybill.api.CallException;
import io.waybill.api.Caller;
import io.waybill.api.ErrorCode;
import io.waybill.api.Invocation;
import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.policy.AccessPolicy;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/**
 * Administration of the running nodes of a home. Each method is one control call in the name of the caller's worker,
 * recorded in the journals and listed by {@code waybill journal list --control}; the node's {@link AccessPolicy} may
 * refuse it.
 *
 * <p>A node is given by the name of its worker, as in {@link Request#to()}. Operations that change bundles run one at a
 * time on a node, and a call waits for those before it.
 *
 * <p><b>Threads.</b> Any. The methods block, except for {@link #referencesAsync}; a handler that must not block may not call
 * them.
 *
 * <p><b>Errors.</b> Each method throws {@link CallException}: {@link ErrorCode#REFUSED} with the reason when the node
 * refuses the operation, {@link ErrorCode#UNKNOWN_OPERATION} when the worker is no node, {@link ErrorCode#TIMED_OUT}
 * after the limit (the operation may still run), {@link ErrorCode#MALFORMED_BODY} when the response is not as expected.
 */
public final class Admin {

    /** Limit of a call. An operation on a bundle waits until its requests have ended. */
    public static final Duration DEFAULT_LIMIT = Duration.ofMinutes(2);

    private static final int MAX_OPERATIONS = 100_000;

    private final Caller caller;
    private final Duration limit;

    private Admin(Caller caller, Duration limit) {
        this.caller = Objects.requireNonNull(caller);
        this.limit = Objects.requireNonNull(limit);
    }

    /** Returns the administration in the name of a worker; of a bundle, in the name of its node's. */
    public static Admin of(Caller caller) {
        return new Admin(caller, DEFAULT_LIMIT);
    }

    /** Returns the same administration with another limit of a call. */
    public Admin withLimit(Duration other) {
        return new Admin(caller, other);
    }

    /** Returns the bundles of a node, and which jars it refused. */
    public BundleList bundles(String node) {
        return call(node, "bundle.list", Map.of(), BundleList.class);
    }

    /** Returns who handles what on a node. */
    public List<HandlerInfo> handlers(String node) {
        record Listed(List<HandlerInfo> handlers) {}
        return call(node, "handlers.list", Map.of(), Listed.class).handlers();
    }

    /**
     * Returns what a worker serves, in the order of names, with the descriptions of the operations. The worker need not
     * be a node. A list of more than 100,000 operations ends there.
     */
    public List<OperationInfo> operations(String worker) {
        record Part(List<OperationInfo> operations, boolean more) {}
        List<OperationInfo> all = new ArrayList<>();
        String after = "";
        while (true) {
            Part part = call(worker, "operations.list", Map.of("after", Value.of(after)), Part.class);
            all.addAll(part.operations());
            String last = all.isEmpty() ? "" : all.get(all.size() - 1).name();
            if (!part.more() || last.compareTo(after) <= 0 || all.size() > MAX_OPERATIONS) { // a wrong list ends, too
                return List.copyOf(all);
            }
            after = last;
        }
    }

    /**
     * Returns an operation of a worker, which need not be a node; empty if no handler takes it.
     *
     * @param name key of a handler, such as {@code text.count}, or an operation that a pattern matches; else the call is
     *     {@link ErrorCode#REFUSED}
     */
    public Optional<OperationInfo> operation(String worker, String name) {
        record Part(List<OperationInfo> operations) {}
        Map<String, Value> fields = Map.of("name", Value.of(name));
        return call(worker, "operations.list", fields, Part.class).operations().stream()
                .findFirst();
    }

    /** Returns the TorchScript files that a node serves or refused. */
    public List<ScriptInfo> scripts(String node) {
        record Listed(List<ScriptInfo> scripts) {}
        return call(node, "scripts.list", Map.of(), Listed.class).scripts();
    }

    /** Returns the class loaders of bundles that left at least {@code age} ago; fractions of a second do not count. */
    public List<LoaderInfo> leakedLoaders(String node, Duration age) {
        record Listed(List<LoaderInfo> loaders) {}
        Map<String, Value> fields = Map.of("seconds", Value.of(age.toSeconds()));
        return call(node, "loaders.leaked", fields, Listed.class).loaders();
    }

    /** Installs a bundle and starts it. A bundle that lacks something is installed, and waits for it. */
    public BundleInfo install(String node, Path jar) {
        return bundle(node, "bundle.install", Map.of("path", path(jar)));
    }

    /** Replaces the bundle of the jar's symbolic name. */
    public BundleInfo update(String node, Path jar) {
        return bundle(node, "bundle.update", Map.of("path", path(jar)));
    }

    /** Replaces the bundle of this name; refused if the jar has another symbolic name. */
    public BundleInfo update(String node, String name, Path jar) {
        return bundle(node, "bundle.update", Map.of("path", path(jar), "name", Value.of(name)));
    }

    /**
     * Starts the next version of a bundle, and gives it a share of the requests until {@link #promote} or
     * {@link #rollBack}. The trial ends with the node, too.
     */
    public BundleInfo updateAsCanary(String node, Path jar, Canary settings) {
        Map<String, Value> fields = new HashMap<>(Map.of("path", path(jar), "percent", Value.of(settings.percent())));
        settings.caller().ifPresent(text -> fields.put("caller", Value.of(text)));
        settings.operation().ifPresent(text -> fields.put("operation", Value.of(text)));
        settings.rollbackIf().ifPresent(text -> fields.put("rollback_if", Value.of(text)));
        return bundle(node, "bundle.update", fields);
    }

    /** Lets the canary of a bundle serve all requests, in place of the running version. */
    public BundleInfo promote(String node, String name) {
        return bundle(node, "bundle.promote", named(name));
    }

    /** Removes the canary of a bundle, whose running version serves all requests again; returns the running one. */
    public BundleInfo rollBack(String node, String name) {
        return bundle(node, "bundle.rollback", named(name));
    }

    /** Starts a bundle that was stopped. */
    public BundleInfo start(String node, String name) {
        return bundle(node, "bundle.start", named(name));
    }

    /** Stops a bundle; requests to its handlers wait for it up to the parking limit. */
    public BundleInfo stop(String node, String name) {
        return bundle(node, "bundle.stop", named(name));
    }

    /** Removes a bundle. */
    public BundleInfo uninstall(String node, String name) {
        return bundle(node, "bundle.uninstall", named(name));
    }

    /**
     * Returns the remote references of a worker, which need not be a node.
     *
     * @param max number of references in the list; 0 to 10,000
     */
    public ReferenceList references(String worker, int max) {
        return call(worker, "rrefs.list", limit(max), ReferenceList.class);
    }

    /**
     * Requests the remote references of a worker like {@link #references}, without waiting, so that several workers can
     * be asked at once.
     *
     * @return completes with the response that {@link ReferenceList#of} reads, or with a {@link CallException}
     */
    public CompletableFuture<Response> referencesAsync(String worker, int max) {
        return caller.callAsync(request(worker, "rrefs.list", limit(max)));
    }

    private static Map<String, Value> limit(int max) {
        return Map.of("limit", Value.of(max));
    }

    /** Makes a node reread its settings, and returns those that have changed. */
    public List<SettingChange> reload(String node) {
        record Reloaded(List<SettingChange> changes) {}
        return call(node, "node.reload", Map.of(), Reloaded.class).changes();
    }

    /** Begins to stop a node, as SIGTERM does. */
    public void stopNode(String node) {
        caller.call(request(node, "node.stop", Map.of())).close();
    }

    /** Begins to stop a node, which then starts again. */
    public void restartNode(String node) {
        caller.call(request(node, "node.stop", Map.of("restart", Value.of(true))))
                .close();
    }

    private static Map<String, Value> named(String name) {
        return Map.of("name", Value.of(name));
    }

    /** Returns the path for a node, whose working directory is another one. */
    private static Value path(Path jar) {
        return Value.of(jar.toAbsolutePath().normalize().toString());
    }

    private BundleInfo bundle(String node, String operation, Map<String, Value> fields) {
        record Changed(BundleInfo bundle) {}
        return call(node, operation, fields, Changed.class).bundle();
    }

    private <T extends Record> T call(String node, String operation, Map<String, Value> fields, Class<T> type) {
        try (Response response = caller.call(request(node, operation, fields))) {
            return response.record(type);
        }
    }

    private Request request(String node, String operation, Map<String, Value> fields) {
        Invocation invocation = new Invocation(operation, List.of(), fields);
        return Request.invocation(node, MessageType.CONTROL_CALL, invocation).timeout(limit);
    }
}
