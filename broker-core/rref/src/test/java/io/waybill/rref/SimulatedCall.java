package io.waybill.rref;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.ErrorKind;
import io.waybill.api.MessageId;
import io.waybill.rref.status.Holder;
import java.util.function.Consumer;

/** A call of one incarnation of a worker to one incarnation of another, with its one outcome. */
final class SimulatedCall {

    final SimulatedWorker caller;
    final Holder target;
    private final Runnable onResponse;
    private final Consumer<CallException> onFailure;
    private boolean completed;

    SimulatedCall(SimulatedWorker caller, Holder target, Runnable onResponse, Consumer<CallException> onFailure) {
        this.caller = caller;
        this.target = target;
        this.onResponse = onResponse;
        this.onFailure = onFailure;
    }

    void response() {
        if (complete()) {
            onResponse.run();
        }
    }

    void fail(ErrorCode code, String text) {
        ErrorKind kind = code == ErrorCode.TIMED_OUT ? ErrorKind.TIMEOUT : ErrorKind.UNKNOWN_ERROR;
        fail(new CallException(kind, code, MessageId.NONE, text));
    }

    void fail(CallException why) {
        if (complete()) {
            onFailure.accept(why);
        }
    }

    boolean isCompleted() {
        return completed;
    }

    private boolean complete() {
        if (completed || !caller.alive) {
            return false;
        }
        completed = true;
        caller.calls.remove(this);
        return true;
    }
}
