package io.waybill.worker.poll;

import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE;
import static org.openjdk.jcstress.annotations.Expect.FORBIDDEN;

import io.waybill.host.Threads;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.II_Result;
import org.openjdk.jcstress.infra.results.I_Result;

/** The permit to poll: one thread holds it, its writes are visible to the next holder, and a thread that waits for it is woken. */
public class PollPermitStress {

    /** Counts what was unparked. */
    private static final class Unparked implements Threads {
        private volatile int count;

        @Override
        public Thread start(String name, Runnable body) {
            throw new UnsupportedOperationException("no thread is started here");
        }

        @Override
        public void unpark(Thread thread) {
            count = 1;
        }
    }

    @JCStressTest
    @Outcome(
            id = {"1, 0", "0, 1"},
            expect = ACCEPTABLE,
            desc = "one of both has it")
    @Outcome(expect = FORBIDDEN, desc = "two threads poll, or a free permit is refused to both")
    @State
    public static class TwoThreads {
        private final PollPermit permit = new PollPermit(new FaultAlarm(new Unparked()));

        @Actor
        public void first(II_Result acquired) {
            acquired.r1 = permit.tryAcquire() ? 1 : 0;
        }

        @Actor
        public void second(II_Result acquired) {
            acquired.r2 = permit.tryAcquire() ? 1 : 0;
        }
    }

    @JCStressTest
    @Outcome(
            id = {"1, 0", "1, 1"},
            expect = ACCEPTABLE,
            desc = "the poller has it, and is perhaps unparked once more")
    @Outcome(id = "0, 1", expect = ACCEPTABLE, desc = "the poller waits, and is unparked")
    @Outcome(expect = FORBIDDEN, desc = "the poller waits for a permit that is free")
    @State
    public static class ReleaseAndWait {
        private final Unparked threads = new Unparked();
        private final PollPermit permit = new PollPermit(new FaultAlarm(threads));

        public ReleaseAndWait() {
            permit.tryAcquire();
        }

        @Actor
        public void release() {
            permit.release();
        }

        @Actor
        public void waits(II_Result result) {
            result.r1 = permit.tryAcquireOrWait() ? 1 : 0;
        }

        @Arbiter
        public void unparked(II_Result result) {
            result.r2 = threads.count;
        }
    }

    @JCStressTest
    @Outcome(
            id = {"-1", "1"},
            expect = ACCEPTABLE,
            desc = "without the permit, or with all that its last holder wrote")
    @Outcome(expect = FORBIDDEN, desc = "the next holder does not see what the last one wrote")
    @State
    public static class ReleaseAndAcquire {
        private final PollPermit permit = new PollPermit(new FaultAlarm(new Unparked()));
        private int written;

        public ReleaseAndAcquire() {
            permit.tryAcquire();
        }

        @Actor
        public void release() {
            written = 1;
            permit.release();
        }

        @Actor
        public void acquire(I_Result seen) {
            seen.r1 = permit.tryAcquire() ? written : -1;
        }
    }

    @JCStressTest
    @Outcome(
            id = {"1, 0", "0, 1"},
            expect = ACCEPTABLE,
            desc = "the thread comes back with the permit, or has lost it")
    @Outcome(expect = FORBIDDEN, desc = "the permit is revoked and kept, or lost by itself")
    @State
    public static class ReturnAndRevocation {
        private final PollPermit permit = new PollPermit(new FaultAlarm(new Unparked()));
        private final long listener;

        public ReturnAndRevocation() {
            permit.tryAcquire();
            listener = permit.enterForeign();
        }

        @Actor
        public void comesBack(II_Result result) {
            result.r1 = permit.leaveForeign(listener) ? 1 : 0;
        }

        @Actor
        public void revoke(II_Result result) {
            result.r2 = permit.revoke(listener) == null ? 0 : 1;
        }
    }
}
