package io.waybill.rref;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.ErrorKind;
import io.waybill.api.MessageId;
import java.util.function.Consumer;

/** A call of one life of a worker to one life of another, with its one outcome. */
final class SimulatedCall {

    final SimulatedWorker caller;
    final Holder target;
    private final Runnable onAnswer;
    private final Consumer<CallException> onFailure;
    private boolean settled;

    SimulatedCall(SimulatedWorker caller, Holder target, Runnable onAnswer, Consumer<CallException> onFailure) {
        this.caller = caller;
        this.target = target;
        this.onAnswer = onAnswer;
        this.onFailure = onFailure;
    }

    void answer() {
        if (settle()) {
            onAnswer.run();
        }
    }

    void fail(ErrorCode code, String text) {
        ErrorKind kind = code == ErrorCode.TIMED_OUT ? ErrorKind.TIMEOUT : ErrorKind.UNKNOWN_ERROR;
        fail(new CallException(kind, code, MessageId.NONE, text));
    }

    void fail(CallException why) {
        if (settle()) {
            onFailure.accept(why);
        }
    }

    boolean isSettled() {
        return settled;
    }

    private boolean settle() {
        if (settled || !caller.alive) {
            return false;
        }
        settled = true;
        caller.calls.remove(this);
        return true;
    }
}
