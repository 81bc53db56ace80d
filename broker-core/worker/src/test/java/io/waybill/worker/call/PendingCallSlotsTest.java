package io.waybill.worker.call;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.CallException;
import io.waybill.api.MessageId;
import io.waybill.api.Response;
import io.waybill.api.ResponseListener;
import io.waybill.api.context.CallContext;
import io.waybill.worker.peer.FlowAccount;
import io.waybill.worker.peer.IdleLink;
import java.io.IOException;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** How slots of calls in flight are used again, and that the account of their link returns to zero. */
@Timeout(60)
class PendingCallSlotsTest {

    private static final int CAPACITY = 4;
    private static final int BYTES = 100;

    private static final ResponseListener IGNORING = new ResponseListener() {
        @Override
        public void onResponse(Response response) {}

        @Override
        public void onFailure(CallException failure) {}
    };

    @TempDir
    private Path directory;

    private final PendingCalls pending = new PendingCalls(3, CAPACITY, 0);
    private IdleLink idle;
    private FlowAccount flow;

    @BeforeEach
    void open() throws IOException {
        idle = new IdleLink(directory);
        flow = idle.link.flow();
    }

    @AfterEach
    void close() throws IOException {
        idle.close();
    }

    private PendingCalls.Slot claim(long deadlineNs) {
        PendingCalls.Slot slot =
                pending.claim(IGNORING, CallContext.EMPTY, idle.link, BYTES, 0, null, 0, deadlineNs, 0);
        if (slot != null) {
            flow.sent(BYTES);
        }
        return slot;
    }

    private void assertNothingIsInFlight() {
        assertThat(pending.size()).as("calls without an outcome").isZero();
        assertThat(pending.taken()).as("calls that are being completed").isZero();
        assertThat(pending.oldest()).as("the oldest call").isNegative();
        assertThat(flow.inFlight()).as("calls in flight to the peer").isZero();
    }

    @Test
    void aSlotIsUsedAgainUnderAnotherId() {
        Set<Long> ids = new HashSet<>();
        Set<PendingCalls.Slot> slots = new HashSet<>();
        for (int i = 0; i < 3 * CAPACITY; i++) {
            PendingCalls.Slot slot = claim(0);
            long id = slot.id();
            ids.add(id);
            slots.add(slot);
            assertThat(pending.free(pending.take(id))).isSameAs(IGNORING);
            assertThat(pending.take(id)).as("an outcome that comes late").isNull();
        }
        assertThat(ids).hasSize(3 * CAPACITY);
        assertThat(slots).hasSize(CAPACITY);
        assertNothingIsInFlight();
    }

    @Test
    void aFullTableHasRoomWhenOneCallIsCompleted() {
        long[] ids = new long[CAPACITY];
        for (int i = 0; i < CAPACITY; i++) {
            ids[i] = claim(0).id();
        }
        assertThat(claim(0)).isNull();
        PendingCalls.Slot taken = pending.take(ids[1]);
        assertThat(claim(0)).as("while its outcome is delivered").isNull();
        assertThat(pending.taken()).isEqualTo(1);
        pending.free(taken);
        PendingCalls.Slot next = claim(0);
        assertThat(next).isSameAs(taken);
        assertThat(pending.take(ids[1])).as("a late outcome of the call before").isNull();
        assertThat(pending.oldest()).isEqualTo(ids[0]);
        pending.takeWhere(slot -> true, (slot, id) -> pending.free(slot));
        assertNothingIsInFlight();
    }

    @Test
    void anExpiredCallIsCompletedOnce() {
        PendingCalls.Slot slot = claim(100);
        long id = slot.id();
        int[] expired = new int[1];
        pending.expire(100, (taken, takenId) -> {
            expired[0]++;
            assertThat(takenId).isEqualTo(id);
            assertThat(pending.take(id)).as("its response, which comes now").isNull();
            pending.free(taken);
        });
        pending.expire(100, (taken, takenId) -> expired[0]++);
        assertThat(expired[0]).isEqualTo(1);
        assertNothingIsInFlight();
    }

    @Test
    void aCallThatWasNotWrittenIsTakenBackUnlessItHasItsOutcome() {
        PendingCalls.Slot slot = claim(0);
        long id = slot.claimedId();
        assertThat(pending.takeBack(slot, id)).isTrue();
        assertThat(flow.unread()).as("requests that the peer will read").isZero();
        assertNothingIsInFlight();

        PendingCalls.Slot other = claim(0);
        long ended = other.claimedId();
        pending.free(pending.take(ended)); // such as by its timeout
        claim(0);
        claim(0);
        claim(0);
        claim(0); // in the same slot
        assertThat(other.id()).isNotEqualTo(ended);
        assertThat(pending.takeBack(other, ended)).isFalse();
        assertThat(pending.size()).as("calls of others").isEqualTo(4);
        pending.takeWhere(each -> true, (each, eachId) -> pending.free(each));
    }

    @Test
    void aRenewedCallHasOneIdAtATime() {
        long first = claim(100).id();
        long second = pending.renew(first);
        assertThat(second).isGreaterThan(first);
        assertThat(pending.take(first)).as("under its first id").isNull();
        assertThat(pending.size()).isEqualTo(1);
        PendingCalls.Slot taken = pending.take(second);
        assertThat(taken.link()).isSameAs(idle.link);
        pending.free(taken);
        assertThat(pending.renew(second)).as("a call that has its outcome").isEqualTo(MessageId.NONE);
        assertNothingIsInFlight();
    }
}
