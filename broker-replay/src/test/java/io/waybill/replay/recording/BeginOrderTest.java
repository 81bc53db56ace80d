package io.waybill.replay.recording;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.WorkerInfo;
import io.waybill.journal.JournalQueue;
import io.waybill.replay.recording.BeginOrder.Begun;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
class BeginOrderTest {

    private final BeginOrder order = new BeginOrder();
    private final List<Long> given = new ArrayList<>();

    private static RecordedCall call(long id, int bytes) {
        RecordedMessage request =
                new RecordedMessage(new WorkerInfo(3, "caller"), JournalQueue.REQUESTS, "file", new byte[bytes]);
        return new RecordedCall(id, request, Optional.empty());
    }

    private void add(long sequence, long epoch, boolean isSure) {
        order.add(new Begun(sequence, epoch, isSure, call(100 * epoch + sequence, 100)));
        poll();
    }

    private void poll() {
        for (RecordedCall call = order.poll(); call != null; call = order.poll()) {
            given.add(call.id());
        }
    }

    private List<Long> end() {
        order.end();
        poll();
        return given;
    }

    @Test
    void givesWhatComesInOrderAtOnce() {
        add(1, 1, true);
        add(2, 1, true);
        assertThat(given).containsExactly(101L, 102L);
    }

    @Test
    void waitsForWhatBeganEarlier() {
        add(2, 1, true);
        add(3, 1, true);
        assertThat(given).isEmpty();
        add(1, 1, true);
        assertThat(given).containsExactly(101L, 102L, 103L);
    }

    @Test
    void startsOverWithEachIncarnation() {
        add(1, 1, true);
        add(3, 1, true);
        add(2, 2, true);
        add(1, 2, true);
        add(1, 5, true);
        assertThat(given).containsExactly(101L, 103L, 201L, 202L, 501L);
        assertThat(order.outOfOrder()).isZero();
    }

    @Test
    void fillsThePlaceOfWhatIsNotWanted() {
        add(3, 1, true);
        order.add(new Begun(1, 1, true, null));
        order.add(new Begun(2, 1, true, null));
        poll();
        assertThat(given).containsExactly(103L);
    }

    @Test
    void countsWhatAnEarlierIncarnationMayHaveBegunForTheOneWhoseNumbersItContinues() {
        add(1, 2, true);
        add(2, 2, true);
        add(3, 1, false);
        add(4, 2, true);
        assertThat(given).containsExactly(201L, 202L, 103L, 204L);
    }

    @Test
    void countsWhatAnEarlierIncarnationMayHaveBegunForTheNextWhenItsNumbersRestart() {
        add(1, 1, true);
        add(2, 1, true);
        add(1, 1, false);
        add(2, 1, false);
        add(3, 2, true);
        assertThat(given).containsExactly(101L, 102L, 101L, 102L, 203L);
        assertThat(order.outOfOrder()).isZero();
    }

    @Test
    void givesUpWaitingForWhatNeverComes() {
        for (long sequence = 2; sequence <= BeginOrder.MAX_CALLS + 2L; sequence++) {
            add(sequence, 0, true);
        }
        assertThat(given).hasSize(BeginOrder.MAX_CALLS + 1).isSorted();
        add(1, 0, true);
        assertThat(end()).last().isEqualTo(1L);
        assertThat(order.outOfOrder()).isEqualTo(1);
    }

    @Test
    void holdsNoMoreBytesThanItMay() {
        int bytes = 1 << 20;
        for (long sequence = 2; sequence <= BeginOrder.MAX_BYTES / bytes + 2; sequence++) {
            order.add(new Begun(sequence, 0, true, call(sequence, bytes)));
        }
        assertThat(order.poll()).isNotNull();
    }

    @Test
    void givesTheRestInOrderAtTheEnd() {
        add(7, 0, true);
        add(5, 0, true);
        add(6, 0, true);
        assertThat(end()).containsExactly(5L, 6L, 7L);
    }
}
