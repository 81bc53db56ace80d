package io.waybill.worker.serve;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.dispatch.HandlerKey;
import io.waybill.handling.Delivered;
import io.waybill.worker.peer.IdleLink;
import io.waybill.worker.peer.UnservedRequests;
import io.waybill.worker.serve.ParkedRequests.Parked;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The order and the number of parked requests, and what their link shows of them. */
@Timeout(60)
class ParkedRequestsTest {

    private static final HandlerKey COUNT = HandlerKey.parse("text.count");
    private static final HandlerKey SPLIT = HandlerKey.parse("text.split");

    private final ParkedRequests parked = new ParkedRequests();
    private IdleLink idle;

    @BeforeEach
    void open(@TempDir Path directory) throws IOException {
        idle = new IdleLink(directory);
    }

    @AfterEach
    void close() throws IOException {
        idle.close();
    }

    /** A request at a position, with the id 100 more. */
    private Parked at(long index) {
        return new Parked(idle.link, index, 100 + index, 0, Delivered.FIRST, null);
    }

    private void add(HandlerKey key, long... indexes) {
        for (long index : indexes) {
            parked.add(key, at(index));
        }
    }

    private List<Long> leave(HandlerKey key) {
        List<Long> left = new ArrayList<>();
        for (Parked first = parked.first(key); first != null; first = parked.first(key)) {
            left.add(first.index());
            parked.removeFirst(key);
        }
        return left;
    }

    private long oldestUnserved() {
        return idle.link.backlog().unserved().oldest();
    }

    @Test
    void theRequestsOfAKeyLeaveInOrderOfArrival() {
        add(COUNT, 5, 1, 9);
        add(SPLIT, 2);
        add(COUNT, 3);
        assertThat(leave(COUNT)).as("requests of one key").containsExactly(5L, 1L, 9L, 3L);
        assertThat(leave(SPLIT)).as("requests of the other key").containsExactly(2L);
    }

    @Test
    void aRequestThatIsPutBackIsAheadOfAllOthersOfItsKey() {
        add(COUNT, 1, 2);
        Parked left = parked.first(COUNT);
        parked.removeFirst(COUNT);
        add(COUNT, 3);
        parked.putBack(COUNT, left);
        assertThat(leave(COUNT)).as("requests in the order in which they leave").containsExactly(1L, 2L, 3L);
    }

    @Test
    void aRequestCanBePutBackWhenNoOtherWaits() {
        parked.putBack(COUNT, at(1));
        assertThat(parked.has(COUNT)).isTrue();
        assertThat(parked.size()).isEqualTo(1);
        assertThat(leave(COUNT)).as("requests that leave").containsExactly(1L);
    }

    @Test
    void allRequestsAreCountedUntilTheyLeave() {
        assertThat(parked.isEmpty()).as("before the first one").isTrue();
        add(COUNT, 1, 2);
        add(SPLIT, 3);
        assertThat(parked.size()).as("after three were added").isEqualTo(3);
        Parked left = parked.first(COUNT);
        parked.removeFirst(COUNT);
        assertThat(parked.size()).as("after one left").isEqualTo(2);
        parked.putBack(COUNT, left);
        assertThat(parked.size()).as("after it was put back").isEqualTo(3);
        leave(COUNT);
        assertThat(parked.isEmpty()).as("while one of the other key waits").isFalse();
        leave(SPLIT);
        assertThat(parked.isEmpty()).as("after all left").isTrue();
        assertThat(parked.size()).as("after all left").isZero();
    }

    @Test
    void aKeyIsThereFromItsFirstRequestToItsLast() {
        assertThat(parked.has(COUNT)).as("before the first one").isFalse();
        add(COUNT, 1, 2);
        parked.removeFirst(COUNT);
        assertThat(parked.has(COUNT)).as("while one waits").isTrue();
        assertThat(parked.has(SPLIT)).as("the other key").isFalse();
        parked.removeFirst(COUNT);
        assertThat(parked.has(COUNT)).as("after all left").isFalse();
        assertThat(parked.keys()).as("keys after all left").isEmpty();
        assertThat(parked.first(COUNT)).as("the oldest after all left").isNull();
    }

    @Test
    void anIdIsFoundUnderAnyKeyWhileItWaits() {
        add(COUNT, 1, 2);
        add(SPLIT, 3);
        assertThat(parked.hasId(102)).as("the last one of a key").isTrue();
        assertThat(parked.hasId(103)).as("one of the other key").isTrue();
        assertThat(parked.hasId(3)).as("a position").isFalse();
        parked.removeFirst(SPLIT);
        assertThat(parked.hasId(103)).as("one that left").isFalse();
    }

    @Test
    void theKeysCanBePassedThroughWhileTheirRequestsLeave() {
        add(COUNT, 1);
        add(SPLIT, 2);
        List<HandlerKey> seen = new ArrayList<>();
        for (HandlerKey key : parked.keys()) {
            seen.add(key);
            leave(key);
            add(HandlerKey.parse("text.join"), 3);
        }
        assertThat(seen).as("keys at the beginning").containsExactlyInAnyOrder(COUNT, SPLIT);
    }

    /** The retention keeps the journal from the oldest of these on. */
    @Test
    void theLinkHasThePositionsOfThoseThatWait() {
        assertThat(oldestUnserved()).as("before the first one").isEqualTo(UnservedRequests.NONE);
        add(COUNT, 7);
        add(SPLIT, 4);
        assertThat(oldestUnserved()).as("of two").isEqualTo(4);
        Parked left = parked.first(SPLIT);
        parked.removeFirst(SPLIT);
        assertThat(oldestUnserved()).as("after the older one left").isEqualTo(7);
        parked.putBack(SPLIT, left);
        assertThat(oldestUnserved()).as("after it was put back").isEqualTo(4);
        leave(SPLIT);
        leave(COUNT);
        assertThat(oldestUnserved()).as("after all left").isEqualTo(UnservedRequests.NONE);
    }

    @Test
    void onlyThoseThatAreParkedAgainChangeTheNumberForReaders() {
        add(COUNT, 1);
        Parked left = parked.first(COUNT);
        parked.removeFirst(COUNT);
        parked.putBack(COUNT, left);
        assertThat(parked.parkedAgain()).as("before it is counted").isZero();
        parked.countParkedAgain();
        parked.countParkedAgain();
        assertThat(parked.parkedAgain()).isEqualTo(2);
    }

    @Test
    void nothingChangesWhenARequestIsRemovedThatIsNotThere() {
        add(COUNT, 1);
        assertThatThrownBy(() -> parked.removeFirst(SPLIT)).isInstanceOf(RuntimeException.class);
        assertThat(parked.size()).as("requests that wait").isEqualTo(1);
    }
}
