package io.waybill.worker.serve;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.dispatch.HandlerEntry;
import io.waybill.exchange.HandlerCall;
import io.waybill.worker.peer.IdleLink;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Requests in flight, in slots that are used again. */
@Timeout(60)
class OpenRequestsTest {

    private final OpenRequests open = new OpenRequests();
    private IdleLink idle;

    @BeforeEach
    void open(@TempDir Path directory) throws IOException {
        idle = new IdleLink(directory);
    }

    @AfterEach
    void close() throws IOException {
        idle.close();
    }

    /** A call that is never made. */
    private record Call() implements HandlerCall {
        @Override
        public long sequence() {
            return 0;
        }

        @Override
        public HandlerEntry entry() {
            return null;
        }

        @Override
        public long id() {
            return 0;
        }

        @Override
        public long deadlineNs() {
            return 0;
        }

        @Override
        public void abandon(long sequence) {}
    }

    private List<Long> visited() {
        List<Long> indexes = new ArrayList<>();
        open.forEach((link, index) -> {
            assertThat(link).as("link of the request at %d", index).isSameAs(idle.link);
            indexes.add(index);
        });
        return indexes;
    }

    @Test
    void aSlotIsNotInFlightBeforeItsFirstRequest() {
        OpenRequest slot = open.add(new Call());
        assertThat(open.slots()).as("slots").isEqualTo(1);
        assertThat(open.count()).as("requests in flight").isZero();
        assertThat(open.has(0))
                .as("whether the id of an unused slot is in flight")
                .isFalse();
        assertThat(visited()).as("requests that are visited").isEmpty();
        assertThat(open.all()).as("all slots").containsExactly(slot);
    }

    @Test
    void aRequestIsInFlightUntilItIsClosed() {
        OpenRequest first = open.add(new Call());
        OpenRequest second = open.add(new Call());
        first.open(idle.link, 1, 101);
        second.open(idle.link, 2, 102);
        assertThat(open.count()).as("requests in flight").isEqualTo(2);
        assertThat(visited()).as("positions in flight").containsExactlyInAnyOrder(1L, 2L);
        assertThat(open.has(101)).isTrue();
        assertThat(open.has(1)).as("a position in place of an id").isFalse();
        first.close();
        first.close();
        assertThat(open.count()).as("requests in flight after one ended").isEqualTo(1);
        assertThat(visited()).as("positions in flight after one ended").containsExactly(2L);
        assertThat(open.has(101)).as("the one that ended").isFalse();
        assertThat(open.has(102)).as("the other one").isTrue();
        assertThat(open.slots()).as("slots, used or not").isEqualTo(2);
    }

    @Test
    void aSlotIsUsedAgainForALaterRequest() {
        OpenRequest slot = open.add(new Call());
        slot.open(idle.link, 1, 101);
        slot.close();
        slot.open(idle.link, 7, 107);
        assertThat(open.has(101)).as("the earlier request").isFalse();
        assertThat(open.has(107)).as("the later request").isTrue();
        assertThat(visited()).containsExactly(7L);
    }

    @Test
    void aSlotThatIsRemovedIsCountedNoMore() {
        OpenRequest kept = open.add(new Call());
        OpenRequest removed = open.add(new Call());
        kept.open(idle.link, 1, 101);
        removed.open(idle.link, 2, 102);
        open.remove(removed);
        open.remove(removed);
        assertThat(open.slots()).as("slots").isEqualTo(1);
        assertThat(open.count()).as("requests in flight").isEqualTo(1);
        assertThat(open.has(102)).as("the removed one").isFalse();
        assertThat(visited()).containsExactly(1L);
    }

    @Test
    void equalCallsHaveSlotsOfTheirOwn() {
        assertThat(new Call()).as("the calls").isEqualTo(new Call());
        open.add(new Call());
        open.add(new Call());
        assertThat(open.slots()).as("slots").isEqualTo(2);
    }

    @Test
    void allSlotsCanBePassedThroughWhileTheyChange() {
        for (int i = 0; i < 10; i++) {
            open.add(new Call()).open(idle.link, i, 100 + i);
        }
        for (OpenRequest slot : open.all()) {
            slot.close();
            open.remove(slot);
        }
        assertThat(open.slots()).as("slots after all were removed").isZero();
        assertThat(open.count()).as("requests in flight").isZero();
    }

    @Test
    void theTimeForWhichARequestWasSeenBeginsAgainWithTheNextOne() {
        OpenRequest slot = open.add(new Call());
        assertThat(slot.seenForNs(1, 1_000)).as("at the first look").isZero();
        assertThat(slot.seenForNs(1, 1_500)).as("at the second look").isEqualTo(500);
        assertThat(slot.seenForNs(2, 1_700))
                .as("at the first look at the next request")
                .isZero();
        assertThat(slot.seenForNs(2, 1_800)).isEqualTo(100);
    }
}
