package io.waybill.script;

import io.waybill.api.ErrorCode;
import io.waybill.api.Invocation;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Value;
import io.waybill.script.source.TorchError;
import io.waybill.script.tensor.EscapedTensors;
import io.waybill.script.tensor.LeasedTensors;
import io.waybill.torch.LibTorch;
import java.util.List;
import java.util.Map;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Future;
import org.bytedeco.pytorch.IValue;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Reference;

/**
 * Runs calls by name on libtorch, and returns their results. The handlers of this bundle share one engine.
 *
 * <p><b>Ownership.</b> Each tensor of a result brings a count of its storage, which goes to the outbox with it, or is
 * released by the caller. <b>Threads.</b> Any number at once. <b>Errors.</b> {@link ErrorCode#UNKNOWN_OPERATION} and
 * {@link ErrorCode#NO_MATCHING_SCHEMA} before anything ran; {@link ErrorCode#REFUSED} with libtorch's own text when it
 * failed, {@link ErrorCode#DEVICE_FULL} when it found no memory.
 */
@Component(service = ScriptEngine.class)
public final class ScriptEngine {

    private final Operators operators;
    private final Functions functions = new Functions();
    private final EscapedTensors escaped = new EscapedTensors();

    /** Settings, under the PID {@code io.waybill.script.ScriptEngine}. */
    public @interface Config {

        /**
         * Operators that calls may run although they reach files, the network or the process: names such as {@code aten::from_file},
         * with commas between.
         */
        String operators_allow() default "";
    }

    /**
     * Creates the engine with its settings.
     *
     * @throws IllegalStateException when libtorch can't be loaded, with what is missing and what to do
     * @throws IllegalArgumentException when a setting is invalid
     */
    @Activate
    public ScriptEngine(@Reference LibTorch libTorch, Config config) {
        this(libTorch, OperatorPolicy.allowing(config.operators_allow()));
    }

    ScriptEngine(LibTorch libTorch, OperatorPolicy policy) {
        libTorch.load();
        this.operators = new Operators(policy);
        rehearse();
    }

    /** Calls an operator twice, so that no request waits until classes are loaded, and a libtorch that does not compute is found here. */
    private void rehearse() {
        try {
            Value one = runOperator(new Invocation("aten::ones", List.of(Value.ints(1)), Map.of()));
            Value two = runOperator(new Invocation("aten::add", List.of(one, one), Map.of()));
            for (Value tensor : List.of(one, two)) {
                ((Value.OfTensor) tensor).value().storage().release();
            }
        } catch (RejectedMessageException e) {
            throw new IllegalStateException("libtorch does not compute: " + e.getMessage(), e);
        }
    }

    /**
     * Runs the operator or the function that the call names, which can't call other workers. Takes as long as the
     * function runs.
     */
    public Value run(Invocation call) throws RejectedMessageException {
        if (OperatorName.isOne(call.name())) {
            return runOperator(call);
        }
        return run(functions.find(call.name()), call, ScriptCalls.none());
    }

    /** Runs the operator that the call names, in the overload that its arguments fit. */
    @SuppressWarnings("try")
    public Value runOperator(Invocation call) throws RejectedMessageException {
        if (!OperatorName.isOne(call.name())) {
            throw functions.unknown(call.name());
        }
        Operator operator = operators.find(call.name());
        Overload overload = operator.choose(call);
        Signature signature = overload.signature();
        if (!operator.respondsNothing(overload)) {
            signature.requireOneResult();
        }
        requireDirect(call);
        try (PointerScope scope = new PointerScope()) {
            LeasedTensors tensors = LeasedTensors.unwatched();
            CallStack stack = new CallStack(tensors);
            signature.push(call, stack);
            overload.run(stack.asVector());
            if (operator.respondsNothing(overload)) {
                return Value.NONE;
            }
            return new Results(tensors).take(stack.onlyResult(), signature.returnsDType());
        } catch (RuntimeException e) {
            throw TorchError.refusal(e);
        }
    }

    private static void requireDirect(Invocation call) throws RejectedMessageException {
        if (call.mode() == Invocation.Mode.ASYNC) {
            throw new RejectedMessageException(
                    ErrorCode.REFUSED, call.name() + " is an operator, and none returns a future: call it as it is");
        }
    }

    /** The functions of the scripts that are served. */
    Functions functions() {
        return functions;
    }

    /** Runs this function, in the version that it is of. What it called is the caller's to close. */
    Value run(ScriptFunction function, Invocation call, ScriptCalls calls) throws RejectedMessageException {
        Signature signature = function.signature();
        if (signature.fit(call.positional(), call.named()) == ParameterType.NO_FIT) {
            throw Signature.noMatch(function.name(), List.of(signature), call);
        }
        signature.requireOneResult();
        if (!function.script().enter()) {
            throw new RejectedMessageException(
                    ErrorCode.HANDLER_GONE, "the script of " + function.name() + " left before this call began");
        }
        try {
            return runWatched(function, call, calls);
        } finally {
            function.script().leave();
        }
    }

    /** Runs a function, and handles the arguments that it kept. */
    @SuppressWarnings("try")
    private Value runWatched(ScriptFunction function, Invocation call, ScriptCalls calls)
            throws RejectedMessageException {
        try (PointerScope outer = new PointerScope()) {
            escaped.sweep();
            LeasedTensors tensors = LeasedTensors.watched();
            try (PointerScope scope = new PointerScope()) {
                CallStack stack = new CallStack(tensors, calls);
                function.begin(stack);
                calls.begin(tensors);
                function.signature().push(call, stack);
                function.run(stack.asVector());
                IValue result = stack.onlyResult();
                return new Results(tensors, calls)
                        .take(call.mode() == Invocation.Mode.ASYNC ? awaited(result, calls) : result, false);
            } catch (RuntimeException e) {
                throw TorchError.refusal(e);
            } finally {
                calls.end();
                tensors.letGo(escaped);
            }
        }
    }

    /** Waits for the future and returns its value. */
    private static IValue awaited(IValue result, ScriptCalls calls) throws RejectedMessageException {
        if (!result.isFuture()) {
            throw new RejectedMessageException(
                    ErrorCode.REFUSED,
                    "Async functions must return an IValue of Future type, but got "
                            + result.tagKind().getString());
        }
        Future future = result.toFuture();
        calls.complete(future);
        future.waitAndThrow();
        return future.value();
    }

    /** Returns how many arguments scripts keep beyond their calls. */
    int escapedCount() {
        return escaped.size();
    }
}
