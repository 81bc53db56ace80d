package io.waybill.simulation;

import io.waybill.api.ErrorCode;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.handler.Outbox;
import io.waybill.api.intercept.CallInterceptor;
import io.waybill.api.intercept.HandledMessage;
import io.waybill.api.intercept.HandlerInterceptor;
import io.waybill.api.intercept.IncomingResponse;
import io.waybill.api.intercept.InterceptedMessage;
import io.waybill.api.intercept.OutgoingCall;
import java.util.Random;
import java.util.function.Consumer;

/** Around all calls and handlers of a worker: refuses some messages, and throws at others, as the seed says. <b>Threads.</b> The simulation's. */
final class SimulatedInterceptors implements HandlerInterceptor, CallInterceptor {

    private static final int ONE_IN = 100;

    private final Random random;
    private final Consumer<String> problem;

    SimulatedInterceptors(Random random, Consumer<String> problem) {
        this.random = random;
        this.problem = problem;
    }

    private void mayFail(String where) throws RejectedMessageException {
        switch (random.nextInt(ONE_IN)) {
            case 0 -> throw new RejectedMessageException(ErrorCode.REFUSED, "by the test, in " + where);
            case 1 -> throw new IllegalStateException("by the test, in " + where);
            default -> {}
        }
    }

    @Override
    public void before(InterceptedMessage message, Outbox outbox) throws RejectedMessageException {
        message.attach(message.id());
        mayFail("before");
        if (random.nextInt(ONE_IN) == 0) {
            outbox.response().int64("n", message.int64("n")); // in place of the handler
        }
    }

    @Override
    public void after(HandledMessage outcome) throws RejectedMessageException {
        if (!Long.valueOf(outcome.id()).equals(outcome.attachment())) {
            problem.accept("after " + outcome.id() + " with what was attached to " + outcome.attachment());
        }
        mayFail("after");
    }

    @Override
    public void onRequest(OutgoingCall call) throws RejectedMessageException {
        mayFail("onRequest");
    }

    @Override
    public void onResponse(IncomingResponse response) throws RejectedMessageException {
        mayFail("onResponse");
    }
}
