package io.waybill.worker;

import io.waybill.api.device.ConvertsDevice;
import io.waybill.api.device.DeviceConverter;
import io.waybill.api.event.CallEvents;
import io.waybill.api.handler.Delivery;
import io.waybill.api.handler.HandlesMessage;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.handler.NonBlocking;
import io.waybill.api.handler.OperationDescription;
import io.waybill.api.intercept.CallInterceptor;
import io.waybill.api.intercept.HandlerInterceptor;
import io.waybill.api.intercept.IgnoresMessage;
import io.waybill.api.intercept.InterceptsMessage;
import io.waybill.api.policy.AccessPolicy;
import io.waybill.api.tool.ToolCommand;
import io.waybill.dispatch.DeliveryPolicy;
import io.waybill.dispatch.ExecutorSettings;
import io.waybill.dispatch.HandlerExecutor;
import io.waybill.dispatch.HandlerKey;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.HandlerSpec;
import io.waybill.dispatch.Provider;
import io.waybill.host.failure.CloseSteps;
import io.waybill.intercept.InterceptorSpec;
import io.waybill.tool.ToolCommands;
import java.lang.annotation.Annotation;
import java.time.Duration;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Extensions of a program in its worker, installed as the annotations of their classes declare.
 *
 * <p><b>Threads.</b> Installed by the thread that joins, closed by any. <b>Ownership.</b> The worker closes it last.
 */
final class ProgramExtensions implements AutoCloseable {

    private static final Duration THREADS_END_LIMIT = Duration.ofSeconds(1);

    private final Worker worker;
    private final HandlerRegistry registry;
    private final boolean serves;
    private final HandlerExecutor executor;
    private final Map<HandlerKey, Provider> claimed = new HashMap<>();
    private int policies;
    private ToolCommands commands; // null until there is one

    /** @param serves whether the worker's role is to serve requests */
    ProgramExtensions(Worker worker, HandlerRegistry registry, boolean serves) {
        this.worker = worker;
        this.registry = registry;
        this.serves = serves;
        this.executor = registry.newExecutor(
                new Provider(worker.info().name(), ""),
                ExecutorSettings.forProcessors(Runtime.getRuntime().availableProcessors()));
    }

    /**
     * Checks that an object is an extension whose class has the annotations that it needs.
     *
     * @throws IllegalArgumentException otherwise
     */
    static void requireUsable(Object extension) {
        if (!(extension instanceof MessageHandler
                || extension instanceof CallInterceptor
                || extension instanceof HandlerInterceptor
                || extension instanceof AccessPolicy
                || extension instanceof CallEvents
                || extension instanceof ToolCommand
                || extension instanceof DeviceConverter)) {
            throw new IllegalArgumentException(
                    "an extension is a MessageHandler, a CallInterceptor, a HandlerInterceptor, an AccessPolicy,"
                            + " a DeviceConverter, a CallEvents or a ToolCommand, and this one is none of them: "
                            + (extension == null ? "null" : extension.getClass().getName()));
        }
        Class<?> type = extension.getClass();
        if (extension instanceof MessageHandler) {
            declared(type, HandlesMessage.class);
        }
        if (extension instanceof DeviceConverter) {
            declared(type, ConvertsDevice.class);
        }
    }

    private static <A extends Annotation> A declared(Class<?> type, Class<A> annotation) {
        A found = type.getAnnotation(annotation);
        if (found == null) {
            throw new IllegalArgumentException(type.getName() + " needs the annotation @" + annotation.getSimpleName()
                    + ", which says what it is for");
        }
        return found;
    }

    Worker worker() {
        return worker;
    }

    /** Installs an extension under each extension type that it implements. */
    void add(Object extension) {
        requireUsable(extension);
        Class<?> type = extension.getClass();
        if (extension instanceof DeviceConverter converter) {
            worker.devices()
                    .register(
                            declared(type, ConvertsDevice.class).value(),
                            converter,
                            registry.errors().reports(providerOf(type)));
        }
        if (extension instanceof AccessPolicy policy) {
            registry.policies().add(providerOf(type), "policy " + ++policies, policy, type.getClassLoader());
        }
        if (extension instanceof CallInterceptor interceptor) {
            worker.interceptors().calls().add(spec(interceptor));
        }
        if (extension instanceof HandlerInterceptor interceptor) {
            worker.interceptors().handlers().add(spec(interceptor));
        }
        if (extension instanceof CallEvents listener) {
            registry.events().add(providerOf(type).toString(), listener);
        }
        if (extension instanceof ToolCommand command) {
            commands().add(providerOf(type), command);
        }
        if (extension instanceof MessageHandler handler) {
            String[] keys = declared(type, HandlesMessage.class).value();
            addHandler(handler, null, OperationDescription.declaredBy(type), keys);
        }
    }

    private ToolCommands commands() {
        requireServing("a ToolCommand");
        if (commands == null) {
            commands = new ToolCommands(registry, worker.directory().home().host());
        }
        return commands;
    }

    private void requireServing(String what) {
        if (!serves) {
            throw new IllegalArgumentException(
                    worker.info().name() + " has the role CALLS_ONLY, in which it gets no request for " + what
                            + "; its role must be SERVES");
        }
    }

    private static <T> InterceptorSpec<T> spec(T interceptor) {
        Class<?> type = interceptor.getClass();
        InterceptsMessage intercepts = type.getAnnotation(InterceptsMessage.class);
        String[] texts = intercepts == null
                ? new String[] {InterceptsMessage.ALL_OPERATIONS, InterceptsMessage.ALL_TYPES}
                : intercepts.value();
        IgnoresMessage ignores = type.getAnnotation(IgnoresMessage.class);
        List<HandlerKey> ignored = ignores == null ? List.of() : keys(ignores.value());
        return new InterceptorSpec<>(keys(texts), ignored, interceptor, providerOf(type), 0);
    }

    /**
     * Installs a handler.
     *
     * @param delivery null for the one that the handler's class declares
     * @throws IllegalArgumentException when a key is not one, or another handler has it, or a description is of another
     *     operation
     */
    void addHandler(
            MessageHandler handler, DeliveryPolicy delivery, List<OperationDescription> descriptions, String... texts) {
        Class<?> type = handler.getClass();
        Provider provider = providerOf(type);
        List<HandlerKey> keys = handlerKeys(texts);
        requireServing("a handler of " + String.join(", ", texts));
        for (HandlerKey key : keys) {
            Provider other = claimed.putIfAbsent(key, provider);
            if (other != null) {
                throw new IllegalArgumentException(
                        "two handlers of worker " + worker.info().name() + " take " + key.text() + ": one of "
                                + other.name() + " and one of " + provider.name());
            }
        }
        registry.add(new HandlerSpec(
                keys,
                handler,
                type.isAnnotationPresent(NonBlocking.class),
                provider,
                0,
                type.getClassLoader(),
                delivery == null ? declaredDelivery(type) : delivery,
                executor,
                descriptions));
    }

    /** Returns the descriptions of a handler's class that are of one key. */
    static List<OperationDescription> declaredFor(String key, MessageHandler handler) {
        if (handler.getClass().getAnnotations().length == 0) {
            return List.of(); // most often: and a join loads no class for them
        }
        List<HandlerKey> keys = keys(key);
        return OperationDescription.declaredBy(handler.getClass()).stream()
                .filter(each -> HandlerSpec.isHandled(HandlerKey.parse(each.name()), keys))
                .toList();
    }

    private static DeliveryPolicy declaredDelivery(Class<?> type) {
        Delivery declared = type.getAnnotation(Delivery.class);
        return declared == null ? DeliveryPolicy.AT_MOST_ONCE : DeliveryPolicy.parse(declared.value());
    }

    static List<HandlerKey> handlerKeys(String... texts) {
        List<HandlerKey> keys = keys(texts);
        for (HandlerKey key : keys) {
            HandlerKey.requireReachable(key);
        }
        return keys;
    }

    private static List<HandlerKey> keys(String... texts) {
        Set<HandlerKey> keys = new LinkedHashSet<>();
        for (String text : texts) {
            HandlerKey key = HandlerKey.parse(text.strip());
            if (key instanceof HandlerKey.OfControl) {
                throw new IllegalArgumentException("control operations are the node's own: " + key.text());
            }
            keys.add(key);
        }
        return List.copyOf(keys);
    }

    /** Returns the provider of an extension: its class, or, for a lambda, the class that contains it. */
    private static Provider providerOf(Class<?> type) {
        String version = type.getPackage() == null ? null : type.getPackage().getImplementationVersion();
        return new Provider(type.getName().split("\\$\\$Lambda", 2)[0], version == null ? "(program)" : version);
    }

    /** Ends the threads of the handlers. */
    @Override
    public void close() {
        new CloseSteps()
                .attempt(commands == null ? () -> {} : commands::close)
                .attempt(() -> executor.close(THREADS_END_LIMIT))
                .finishUnchecked();
    }
}
