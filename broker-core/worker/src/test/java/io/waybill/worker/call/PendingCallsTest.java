package io.waybill.worker.call;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.CallException;
import io.waybill.api.Response;
import io.waybill.api.ResponseListener;
import io.waybill.api.context.CallContext;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Which calls end at a deadline, and which id belongs to which call. */
@Timeout(60)
class PendingCallsTest {

    private static final int WORKER = 3;
    private static final long NO_DEADLINE = 0;

    private final PendingCalls pending = new PendingCalls(WORKER, 4, 0);

    private static final ResponseListener IGNORING = new ResponseListener() {
        @Override
        public void onResponse(Response response) {}

        @Override
        public void onFailure(CallException failure) {}
    };

    private long claim(long deadlineNs) {
        return pending.claim(IGNORING, CallContext.EMPTY, null, 8, 0, null, 0, deadlineNs, 0)
                .id();
    }

    private final List<Long> expired = new ArrayList<>();

    private long expire(long nowNs) {
        return pending.expire(nowNs, (slot, id) -> expired.add(id));
    }

    @Test
    void callsWithoutADeadlineStayWhenOthersExpire() {
        long without = claim(NO_DEADLINE);
        long early = claim(100);
        long late = claim(200);
        assertThat(expire(99)).as("the earliest deadline").isEqualTo(100);
        assertThat(expired).isEmpty();
        assertThat(expire(100)).as("the next deadline").isEqualTo(200);
        assertThat(expired).as("calls whose deadline is now").containsExactly(early);
        assertThat(expire(Long.MAX_VALUE - 1)).as("no deadline is left").isEqualTo(Long.MAX_VALUE);
        assertThat(expired)
                .as("%s has no deadline", without)
                .containsExactly(early, late)
                .doesNotContain(without);
        assertThat(pending.oldest()).as("the call that stays").isEqualTo(without);
    }

    @Test
    void aCallIsTakenOnceAndByItsOwnIdAlone() {
        long first = claim(NO_DEADLINE);
        assertThat(pending.take(first + 4)).as("another call of the same slot").isNull();
        PendingCalls.Slot taken = pending.take(first);
        assertThat(taken).isNotNull();
        assertThat(pending.take(first)).as("a second outcome").isNull();
        expire(Long.MAX_VALUE);
        assertThat(expired).as("a call that another thread completes").isEmpty();
        pending.giveBack(taken, first);
        assertThat(pending.take(first)).isSameAs(taken);
    }

    /** Its deadline may have passed when the call is made. */
    @Test
    void aCallKeepsTheIdOfItsRequestWhenItIsTakenAtOnce() {
        PendingCalls.Slot slot = pending.claim(IGNORING, CallContext.EMPTY, null, 8, 0, null, 0, 1, 0);
        long id = slot.claimedId();
        expire(1);
        assertThat(expired).as("calls that another thread completes").containsExactly(id);
        assertThat(slot.claimedId())
                .as("the id of the record that is written now")
                .isEqualTo(id);
    }

    @Test
    void onlyTheCallItselfIsTakenBack() {
        for (int i = 0; i < 4; i++) {
            claim(i == 2 ? 1 : NO_DEADLINE); // the slot that the number of a taken one belongs to
        }
        expire(1);
        PendingCalls.Slot mine = pending.take(expired.get(0) + 1);
        assertThat(pending.takeBack(mine, mine.claimedId()))
                .as("the call has an outcome, and is taken back all the same")
                .isFalse();
        assertThat(pending.taken()).as("calls that other threads complete").isEqualTo(2);
    }

    @Test
    void aFullTableGivesNoSlot() {
        for (int i = 0; i < 4; i++) {
            claim(NO_DEADLINE);
        }
        assertThat(pending.claim(IGNORING, CallContext.EMPTY, null, 8, 0, null, 0, NO_DEADLINE, 0))
                .isNull();
        assertThat(pending.size()).isEqualTo(4);
    }
}
