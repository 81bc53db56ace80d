package io.waybill.worker.call;

import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE;
import static org.openjdk.jcstress.annotations.Expect.FORBIDDEN;

import io.waybill.api.CallException;
import io.waybill.api.MessageId;
import io.waybill.api.Response;
import io.waybill.api.ResponseListener;
import io.waybill.api.context.CallContext;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.II_Result;
import org.openjdk.jcstress.infra.results.I_Result;

/** Calls in flight: one thread completes each, and sees all of it. */
public class PendingCallsStress {

    private static final int WORKER = 3;
    private static final long TIMEOUT_NS = 7;

    private static final ResponseListener IGNORING = new ResponseListener() {
        @Override
        public void onResponse(Response response) {}

        @Override
        public void onFailure(CallException failure) {}
    };

    private static PendingCalls.Slot claim(PendingCalls pending) {
        return pending.claim(IGNORING, CallContext.EMPTY, null, 8, 0, null, 0, 1, TIMEOUT_NS);
    }

    @JCStressTest
    @Outcome(
            id = {"1, 0", "0, 1"},
            expect = ACCEPTABLE,
            desc = "its response or its timeout is the outcome")
    @Outcome(expect = FORBIDDEN, desc = "a call has two outcomes, or none")
    @State
    public static class ResponseAndTimeout {
        private final PendingCalls pending = new PendingCalls(WORKER, 2, 0);
        private final long id = claim(pending).id();

        @Actor
        public void respond(II_Result taken) {
            taken.r1 = pending.take(id) == null ? 0 : 1;
        }

        @Actor
        public void expire(II_Result taken) {
            pending.expire(2, (slot, expired) -> taken.r2 = 1);
        }
    }

    @JCStressTest
    @Outcome(
            id = {"1, 0", "0, 1"},
            expect = ACCEPTABLE,
            desc = "it has a new id, or its outcome")
    @Outcome(expect = FORBIDDEN, desc = "a call has an outcome and goes on, or neither")
    @State
    public static class ResponseAndRenewal {
        private final PendingCalls pending = new PendingCalls(WORKER, 2, 0);
        private final long id = claim(pending).id();

        @Actor
        public void renew(II_Result result) {
            result.r1 = pending.renew(id) == MessageId.NONE ? 0 : 1;
        }

        @Actor
        public void respond(II_Result result) {
            result.r2 = pending.take(id) == null ? 0 : 1;
        }
    }

    @JCStressTest
    @Outcome(id = "0", expect = ACCEPTABLE, desc = "not claimed yet")
    @Outcome(id = "1", expect = ACCEPTABLE, desc = "with all that belongs to it")
    @Outcome(expect = FORBIDDEN, desc = "a response finds a call without its listener, context or timeout")
    @State
    public static class ClaimAndResponse {
        private final PendingCalls pending = new PendingCalls(WORKER, 2, 0);

        @Actor
        public void send() {
            claim(pending);
        }

        @Actor
        public void respond(I_Result result) {
            PendingCalls.Slot slot = pending.take(MessageId.of(WORKER, 0));
            if (slot != null) {
                boolean whole = slot.context() == CallContext.EMPTY && slot.timeoutNs() == TIMEOUT_NS;
                result.r1 = whole ? 1 : -1;
            }
        }
    }
}
