package io.waybill.script;

import io.waybill.api.ErrorCode;
import io.waybill.api.HandlesMessage;
import io.waybill.api.Invocation;
import io.waybill.api.Message;
import io.waybill.api.MessageHandler;
import io.waybill.api.NonBlocking;
import io.waybill.api.Outbox;
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
 * Answers SCRIPT_CALL: runs the libtorch operator that the call names, and replies with its one result.
 *
 * <p><b>Threads.</b> Any number at once. <b>Errors.</b> {@link ErrorCode#UNKNOWN_OPERATION} and {@link ErrorCode#NO_MATCHING_SCHEMA} before
 * anything ran; {@link ErrorCode#REFUSED} with libtorch's own text when the operator failed, {@link ErrorCode#DEVICE_FULL} when it
 * found no memory.
 */
@Component
@HandlesMessage("SCRIPT_CALL")
@NonBlocking
public final class ScriptCall implements MessageHandler {

    private final Operators operators;

    /** @throws IllegalStateException when libtorch can't be loaded, with what is missing and what to do */
    @Activate
    public ScriptCall(@Reference LibTorch libTorch) {
        libTorch.load();
        this.operators = new Operators();
        rehearse();
    }

    @Override
    public void handle(Message message, Outbox outbox) throws RejectedMessageException {
        outbox.reply(answer(message.invocation()));
    }

    /** Calls an operator twice, so that no request waits until classes are loaded, and a libtorch that does not compute is found here. */
    private void rehearse() {
        try {
            Value one = answer(new Invocation("aten::ones", List.of(Value.ints(1)), Map.of()));
            Value two = answer(new Invocation("aten::add", List.of(one, one), Map.of()));
            for (Value tensor : List.of(one, two)) {
                ((Value.OfTensor) tensor).value().storage().release();
            }
        } catch (RejectedMessageException e) {
            throw new IllegalStateException("libtorch does not compute: " + e.getMessage(), e);
        }
    }

    /** Each tensor of the answer brings a count of its storage. */
    @SuppressWarnings("try")
    private Value answer(Invocation call) throws RejectedMessageException {
        Overload overload = operators.find(call.name()).choose(call);
        overload.requireOneResult();
        try (PointerScope scope = new PointerScope()) {
            return run(overload, call);
        }
    }

    private static Value run(Overload overload, Invocation call) throws RejectedMessageException {
        try {
            BorrowedTensors tensors = new BorrowedTensors();
            CallStack stack = new CallStack(tensors);
            overload.push(call, stack);
            overload.run(stack.asVector());
            return new Results(tensors).take(stack.onlyResult(), overload.returnsDType());
        } catch (RuntimeException e) {
            throw TorchError.refusal(e);
        }
    }
}
