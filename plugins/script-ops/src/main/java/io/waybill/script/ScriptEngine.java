package io.waybill.script;

import io.waybill.api.ErrorCode;
import io.waybill.api.Invocation;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Value;
import io.waybill.torch.LibTorch;
import java.util.List;
import java.util.Map;
import org.bytedeco.javacpp.PointerScope;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Reference;

/**
 * Runs a call by name on libtorch, and gives its one result. The handlers of this bundle share one.
 *
 * <p><b>Ownership.</b> Each tensor of a result brings a count of its storage, which goes to the outbox with it, or is the caller's to
 * give back. <b>Threads.</b> Any number at once. <b>Errors.</b> {@link ErrorCode#UNKNOWN_OPERATION} and
 * {@link ErrorCode#NO_MATCHING_SCHEMA} before anything ran; {@link ErrorCode#REFUSED} with libtorch's own text when it failed,
 * {@link ErrorCode#DEVICE_FULL} when it found no memory.
 */
@Component(service = ScriptEngine.class)
public final class ScriptEngine {

    private final Operators operators;

    /** @throws IllegalStateException when libtorch can't be loaded, with what is missing and what to do */
    @Activate
    public ScriptEngine(@Reference LibTorch libTorch) {
        libTorch.load();
        this.operators = new Operators();
        rehearse();
    }

    /** Calls an operator twice, so that no request waits until classes are loaded, and a libtorch that does not compute is found here. */
    private void rehearse() {
        try {
            Value one = run(new Invocation("aten::ones", List.of(Value.ints(1)), Map.of()));
            Value two = run(new Invocation("aten::add", List.of(one, one), Map.of()));
            for (Value tensor : List.of(one, two)) {
                ((Value.OfTensor) tensor).value().storage().release();
            }
        } catch (RejectedMessageException e) {
            throw new IllegalStateException("libtorch does not compute: " + e.getMessage(), e);
        }
    }

    /** Runs the operator that the call names, in the overload that its arguments fit. */
    @SuppressWarnings("try")
    public Value run(Invocation call) throws RejectedMessageException {
        Overload overload = operators.find(call.name()).choose(call);
        Signature signature = overload.signature();
        signature.requireOneResult();
        requireDirect(call);
        try (PointerScope scope = new PointerScope()) {
            BorrowedTensors tensors = new BorrowedTensors();
            CallStack stack = new CallStack(tensors);
            signature.push(call, stack);
            overload.run(stack.asVector());
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
}
