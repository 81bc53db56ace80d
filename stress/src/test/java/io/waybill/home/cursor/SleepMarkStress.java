package io.waybill.home.cursor;

import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE;
import static org.openjdk.jcstress.annotations.Expect.FORBIDDEN;

import org.agrona.concurrent.UnsafeBuffer;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.II_Result;

/**
 * The doorbell, up to the kernel: one who goes to sleep and one who sends do not miss each other. The first number is what the last look before the sleep
 * found, the second whether the sender rings.
 */
public class SleepMarkStress {

    private static final int RECEIVER = 3;
    private static final int RECORD = 7;
    private static final int WHOLE = 1;
    private static final int TORN = -1;

    /** The tables of a receiver and a sender, and a record. */
    private static final class Pair {
        private final SleepMark mark = new SleepMark(new UnsafeBuffer(new byte[CursorLayout.DIRECTORY_AT]));
        private final UnsafeBuffer ofSender =
                new UnsafeBuffer(new byte[CursorLayout.HEADER_BYTES + CursorLayout.SLOT_BYTES]);
        private final CursorSlot count = new CursorSlot(ofSender, 0);
        private final PeerCursorSlot counted = new PeerCursorSlot(ofSender, CursorLayout.slotOffset(0), RECEIVER);
        private int record;

        /** Returns what a poll finds. */
        int look() {
            if (counted.announced() == 0) {
                return 0;
            }
            return record == RECORD ? WHOLE : TORN;
        }

        /** Returns 1 for a ring. */
        int send() {
            record = RECORD;
            count.announce();
            return mark.isAsleepAfterFence() ? 1 : 0;
        }
    }

    @JCStressTest
    @Outcome(
            id = {"1, 0", "1, 1"},
            expect = ACCEPTABLE,
            desc = "it finds the record, and is perhaps rung for once more")
    @Outcome(id = "0, 1", expect = ACCEPTABLE, desc = "it sleeps, and is rung for")
    @Outcome(expect = FORBIDDEN, desc = "it sleeps while a record waits for it, or finds one that is not whole")
    @State
    public static class SleepAndRecord {
        private final Pair pair = new Pair();

        @Actor
        public void sleep(II_Result result) {
            pair.mark.asleep(1);
            result.r1 = pair.look();
        }

        @Actor
        public void send(II_Result result) {
            result.r2 = pair.send();
        }
    }

    @JCStressTest
    @Outcome(
            id = {"1, 0", "1, 1"},
            expect = ACCEPTABLE,
            desc = "the caller that has polled finds it, and the poller is perhaps rung for")
    @Outcome(id = "0, 1", expect = ACCEPTABLE, desc = "the poller that sleeps is rung for")
    @Outcome(expect = FORBIDDEN, desc = "no thread polls while a record waits, or one that is not whole is found")
    @State
    public static class EndOfTurnAndRecord {
        private final Pair pair = new Pair();

        public EndOfTurnAndRecord() {
            pair.mark.asleep(1); // the poller, in whose place a caller polls
            pair.mark.polled();
        }

        @Actor
        public void endTurn(II_Result result) {
            pair.mark.asleep();
            result.r1 = pair.look();
        }

        @Actor
        public void send(II_Result result) {
            result.r2 = pair.send();
        }
    }
}
