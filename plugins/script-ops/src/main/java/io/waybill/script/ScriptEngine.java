package io.waybill.script;

import io.waybill.api.ErrorCode;
import io.waybill.api.Invocation;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Value;
import io.waybill.api.handler.Exclusive;
import io.waybill.api.handler.Outbox;
import io.waybill.script.context.ScriptGradients;
import io.waybill.script.source.TorchError;
import io.waybill.torch.LeasedTensors;
import io.waybill.torch.NativeAutograd;
import io.waybill.torch.NativeOperators;
import io.waybill.torch.NativeTensors;
import io.waybill.torch.OperatorEvents;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.random.RandomGenerator;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Future;
import org.bytedeco.pytorch.IValue;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Deactivate;
import org.osgi.service.component.annotations.Modified;
import org.osgi.service.component.annotations.Reference;
import org.osgi.service.component.annotations.ReferenceCardinality;
import org.osgi.service.component.annotations.ReferencePolicy;
import org.osgi.service.component.annotations.ReferencePolicyOption;

/**
 * Runs calls by name on libtorch, and returns their results. The handlers of this bundle share one engine.
 *
 * <p><b>Graphs.</b> If an argument carries its native side, or a function is called in a context of distributed
 * autograd, the results carry theirs, and libtorch holds the bytes of the other arguments while it uses them. Otherwise
 * an operator uses the bytes for the call only, and results have no graph.
 *
 * <p><b>Ownership.</b> Each tensor of a result has a count of its storage, which it transfers to the outbox, or which
 * the caller releases. <b>Threads.</b> Any number at once. <b>Errors.</b> {@link ErrorCode#UNKNOWN_OPERATION} and
 * {@link ErrorCode#NO_MATCHING_SCHEMA} before a run; {@link ErrorCode#REFUSED} with libtorch's own text if it failed,
 * {@link ErrorCode#DEVICE_FULL} if memory was exhausted.
 */
@Exclusive
@Component(service = {ScriptEngine.class, NativeOperators.class})
public final class ScriptEngine implements NativeOperators {

    private static final Logger LOG = System.getLogger(ScriptEngine.class.getName());

    /** Seed for operators without random numbers. */
    private static final long UNUSED_SEED = 0;

    private final Operators operators;
    private final Functions functions = new Functions();
    private final NativeTensors natives;
    private final ScriptGradients gradients;
    /** Written at deactivation, read by callers of the service. */
    private volatile boolean left;

    /** Settings, under the PID {@code io.waybill.script.ScriptEngine}. */
    public @interface Config {

        /**
         * Returns the operators that calls may run although they access files, the network or the process: names such
         * as {@code aten::from_file}, separated by commas.
         */
        String operators_allow() default "";
    }

    /**
     * Creates the engine with its settings.
     *
     * @throws IllegalStateException if libtorch can't be loaded, with the missing file and what to do
     * @throws IllegalArgumentException if a setting is invalid
     */
    @Activate
    public ScriptEngine(@Reference NativeTensors natives, Config config) {
        this(natives, OperatorPolicy.allowing(config.operators_allow()));
    }

    /** Creates an engine with the default settings, for a program without OSGi. */
    public ScriptEngine(NativeTensors natives) {
        this(natives, OperatorPolicy.standard());
    }

    ScriptEngine(NativeTensors natives, OperatorPolicy policy) {
        this.natives = natives;
        this.gradients = new ScriptGradients(natives);
        this.operators = new Operators(policy);
        rehearse();
    }

    /**
     * Calls an operator twice, so that classes are loaded before the first request, and a defective libtorch is
     * detected.
     */
    private void rehearse() {
        try {
            Value one = rehearsed(new Invocation("aten::ones", List.of(Value.ints(1)), Map.of()));
            Value two = rehearsed(new Invocation("aten::add", List.of(one, one), Map.of()));
            for (Value tensor : List.of(one, two)) {
                ((Value.OfTensor) tensor).value().storage().release();
            }
        } catch (RejectedMessageException e) {
            throw new IllegalStateException("libtorch does not compute: " + e.getMessage(), e);
        }
    }

    private Value rehearsed(Invocation call) throws RejectedMessageException {
        Operator operator = operator(call);
        return run(operator, operator.choose(call), call, LeasedTensors.forCall(), UNUSED_SEED);
    }

    /** Applies changed settings; if one is invalid, the defaults apply. Scripts stay loaded. */
    @Modified
    void change(Config config) {
        try {
            operators.permit(OperatorPolicy.allowing(config.operators_allow()));
        } catch (IllegalArgumentException e) {
            operators.permit(OperatorPolicy.standard());
            LOG.log(
                    Level.ERROR,
                    "No further operator is allowed until conf/" + ScriptEngine.class.getName() + ".cfg is right: "
                            + e.getMessage());
        }
    }

    /** Sets the distributed autograd in whose contexts functions run backward passes and read gradients. */
    @Reference(
            unbind = "disconnect",
            cardinality = ReferenceCardinality.OPTIONAL,
            policy = ReferencePolicy.DYNAMIC,
            policyOption = ReferencePolicyOption.GREEDY)
    public void connect(NativeAutograd autograd) {
        gradients.connect(autograd);
    }

    /** Removes the distributed autograd, unless another one was set. */
    public void disconnect(NativeAutograd autograd) {
        gradients.disconnect(autograd);
    }

    /** Deactivates the component. Running calls continue. */
    @Deactivate
    void leave() {
        left = true;
    }

    @Override
    public Value run(Invocation call) throws RejectedMessageException {
        return run(call, new SplittableRandom());
    }

    /** Runs an operator or a function on live tensors. A function can't call other workers. */
    @Override
    public Value run(Invocation call, RandomGenerator random) throws RejectedMessageException {
        if (left) {
            throw new RejectedMessageException(
                    ErrorCode.HANDLER_GONE,
                    "this version of script-ops has left: take the service that is registered now");
        }
        if (OperatorName.isOne(call.name())) {
            Operator operator = operator(call);
            Overload overload = operator.choose(call);
            long seed = overload.isRandom() ? random.nextLong() : UNUSED_SEED;
            return run(operator, overload, call, natives.leases(), seed);
        }
        return run(functions.find(call.name()), call, ScriptCalls.none(), natives.leases());
    }

    /**
     * Runs the operator that a message calls, in the overload that fits its arguments. If it draws random numbers, the
     * seed is from the outbox.
     */
    public Value runOperator(Invocation call, Outbox outbox) throws RejectedMessageException {
        Operator operator = operator(call);
        Overload overload = operator.choose(call);
        long seed = overload.isRandom() ? outbox.random().nextLong() : UNUSED_SEED;
        LeasedTensors tensors = NativeTensors.isAnyIn(call) ? natives.leases() : LeasedTensors.forCall();
        return run(operator, overload, call, tensors, seed);
    }

    private Operator operator(Invocation call) throws RejectedMessageException {
        if (!OperatorName.isOne(call.name())) {
            throw functions.unknown(call.name());
        }
        return operators.find(call.name());
    }

    @SuppressWarnings("try")
    private Value run(Operator operator, Overload overload, Invocation call, LeasedTensors tensors, long seed)
            throws RejectedMessageException {
        Signature signature = overload.signature();
        if (!operator.respondsNothing(overload)) {
            signature.requireResult();
        }
        requireDirect(call);
        try (PointerScope scope = new PointerScope()) {
            CallStack stack = new CallStack(tensors);
            signature.push(call, stack);
            runObserved(overload, stack, seed);
            if (operator.respondsNothing(overload)) {
                return Value.NONE;
            }
            return new Results(tensors).take(stack.results(signature.returnCount()), signature.elementTypes());
        } catch (RuntimeException e) {
            throw TorchError.refusal(e);
        } finally {
            tensors.letGo();
        }
    }

    /**
     * Runs an operator under observation, without the conversions of its arguments and results, which belong to no
     * operator of the call.
     */
    @SuppressWarnings("try")
    private void runObserved(Overload overload, CallStack stack, long seed) {
        try (OperatorEvents.Observation observed = natives.operatorEvents().observe()) {
            overload.run(stack.asVector(), seed);
        }
    }

    private static void requireDirect(Invocation call) throws RejectedMessageException {
        if (call.mode() == Invocation.Mode.ASYNC) {
            throw new RejectedMessageException(
                    ErrorCode.REFUSED, call.name() + " is an operator, and none returns a future: call it as it is");
        }
    }

    /** Returns the functions of the served scripts. */
    Functions functions() {
        return functions;
    }

    /** Runs a function in its own version. The caller closes its calls. */
    Value run(ScriptFunction function, Invocation call, ScriptCalls calls) throws RejectedMessageException {
        // a function has tensors of its own, and fetches some: its arguments do not determine whether its results have
        // a graph
        boolean hasGraph = NativeTensors.isAnyIn(call) || gradients.isInContext();
        return run(function, call, calls, hasGraph ? natives.leases() : LeasedTensors.whileUsed());
    }

    private Value run(ScriptFunction function, Invocation call, ScriptCalls calls, LeasedTensors tensors)
            throws RejectedMessageException {
        Signature signature = function.signature();
        if (signature.fit(call.positional(), call.named()) == ParameterType.NO_FIT) {
            throw Signature.noMatch(function.name(), List.of(signature), call);
        }
        signature.requireResult();
        if (!function.script().enter()) {
            throw new RejectedMessageException(
                    ErrorCode.HANDLER_GONE, "the script of " + function.name() + " left before this call began");
        }
        try {
            return runEntered(function, call, calls, tensors);
        } finally {
            function.script().leave();
        }
    }

    @SuppressWarnings("try")
    private Value runEntered(ScriptFunction function, Invocation call, ScriptCalls calls, LeasedTensors tensors)
            throws RejectedMessageException {
        try (PointerScope scope = new PointerScope()) {
            CallStack stack = new CallStack(tensors, calls);
            function.begin(stack);
            calls.begin(tensors, gradients);
            function.signature().push(call, stack);
            return new Results(tensors, calls)
                    .take(runObserved(function, stack, call.mode(), calls), function.elementTypes());
        } catch (RuntimeException e) {
            throw TorchError.refusal(e);
        } finally {
            calls.end();
            tensors.letGo();
        }
    }

    @SuppressWarnings("try")
    private IValue runObserved(ScriptFunction function, CallStack stack, Invocation.Mode mode, ScriptCalls calls)
            throws RejectedMessageException {
        try (OperatorEvents.Observation observed = natives.operatorEvents().observe()) {
            try {
                function.run(stack.asVector());
            } finally {
                calls.endScopes();
            }
            IValue result = stack.results(1);
            return mode == Invocation.Mode.ASYNC ? awaited(result, calls) : result;
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

    /** Returns the number of storages of messages that scripts and graphs keep beyond their calls. */
    int storageCount() {
        return natives.storageCount();
    }
}
