package io.waybill.conformance.worker;

import io.waybill.api.RejectedMessageException;
import io.waybill.api.Value;
import io.waybill.api.handler.HandlesMessage;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.handler.NonBlocking;
import io.waybill.autograd.Autograd;
import io.waybill.autograd.BackwardRequests;
import io.waybill.autograd.ForwardRequests;
import io.waybill.autograd.PassRequests;
import io.waybill.dispatch.ExecutorSettings;
import io.waybill.dispatch.HandlerExecutor;
import io.waybill.dispatch.HandlerKey;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.HandlerSpec;
import io.waybill.dispatch.Provider;
import io.waybill.intercept.InterceptorSpec;
import io.waybill.script.ScriptCall;
import io.waybill.script.ScriptEngine;
import io.waybill.torch.LibTorch;
import io.waybill.torch.NativeTensor;
import io.waybill.torch.NativeTensors;
import io.waybill.worker.Worker;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;

/**
 * Operators and autograd in a program without bundles.
 *
 * @param natives of libtorch in this process
 * @param engine which runs operators here
 * @param autograd the contexts of this worker
 */
record AutogradProgram(NativeTensors natives, ScriptEngine engine, Autograd autograd) {

    private static final Provider PROVIDER = new Provider("autograd", "conformance");

    /** Adds handlers and interceptors to a worker that is not ready yet. */
    static AutogradProgram install(Worker worker, HandlerRegistry registry, Path distribution) {
        NativeTensors natives = new NativeTensors(new LibTorch(distribution.resolve("lib/native"), 1));
        ScriptEngine engine = new ScriptEngine(natives);
        Autograd autograd = new Autograd(worker.broker(), natives);
        worker.interceptors().calls().add(InterceptorSpec.ofAll(autograd, PROVIDER));
        HandlerExecutor executor = registry.newExecutor(PROVIDER, ExecutorSettings.forProcessors(2));
        new LeafOperations(natives).all().forEach((name, handler) -> {
            for (String prefix : List.of("", HandlerKey.FUNCTION_PREFIX)) {
                HandlerKey key = HandlerKey.parse(prefix + Operations.PREFIX + name);
                registry.add(HandlerSpec.of(key, handler, PROVIDER, executor));
            }
        });
        for (MessageHandler handler : List.of(
                new ScriptCall(engine),
                new ForwardRequests(autograd),
                new PassRequests(autograd),
                new BackwardRequests(autograd))) {
            Class<?> type = handler.getClass();
            registry.add(new HandlerSpec(
                    Arrays.stream(type.getAnnotation(HandlesMessage.class).value())
                            .map(HandlerKey::parse)
                            .toList(),
                    handler,
                    type.isAnnotationPresent(NonBlocking.class),
                    PROVIDER,
                    0,
                    type.getClassLoader(),
                    executor));
        }
        return new AutogradProgram(natives, engine, autograd);
    }

    /** Returns a leaf with its native side, over the same bytes. The caller releases a count of its storages. */
    Value live(Value leaf) throws RejectedMessageException {
        NativeTensor handle = leaf instanceof Value.OfSparse sparse
                ? natives.of(sparse.value())
                : natives.of(((Value.OfTensor) leaf).value());
        try {
            return natives.describe(handle);
        } finally {
            handle.release();
        }
    }
}
