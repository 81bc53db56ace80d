package io.waybill.dispatch;

import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE;
import static org.openjdk.jcstress.annotations.Expect.FORBIDDEN;

import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.II_Result;
import org.openjdk.jcstress.infra.results.I_Result;

/** Calls of a handler: none begins unseen after its withdrawal, and the count returns to zero. */
public class InFlightCountStress {

    @JCStressTest
    @Outcome(id = "1, 1", expect = ACCEPTABLE, desc = "it begins, and the withdrawal waits for it")
    @Outcome(
            id = {"0, 0", "0, 1"},
            expect = ACCEPTABLE,
            desc = "it is refused")
    @Outcome(expect = FORBIDDEN, desc = "a call begins, and the withdrawal does not wait for it")
    @State
    public static class BeginAndWithdrawal {
        private final InFlightCount count = new InFlightCount();

        @Actor
        public void begin(II_Result result) {
            result.r1 = count.begin() ? 1 : 0;
        }

        @Actor
        public void withdraw(II_Result result) {
            count.withdraw();
            result.r2 = count.inFlight() > 0 ? 1 : 0;
        }
    }

    @JCStressTest
    @Outcome(id = "0", expect = ACCEPTABLE, desc = "all have ended")
    @Outcome(
            expect = FORBIDDEN,
            desc = "a call is counted as in flight that has ended, or another one's end counts twice")
    @State
    public static class TwoCalls {
        private final InFlightCount count = new InFlightCount();

        @Actor
        public void first() {
            count.begin();
            count.end();
            count.begin();
            count.end();
        }

        @Actor
        public void second() {
            count.begin();
            count.end();
            count.begin();
            count.end();
        }

        @Arbiter
        public void atTheEnd(I_Result result) {
            result.r1 = (int) count.inFlight();
        }
    }
}
