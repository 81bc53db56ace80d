package io.waybill.replay.recording;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.WorkerInfo;
import io.waybill.journal.JournalQueue;
import io.waybill.testing.core.Seeds;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
class HeldRequestsTest {

    private static PendingRequest request(long counter, int bytes) {
        RecordedMessage message =
                new RecordedMessage(new WorkerInfo(3, "caller"), JournalQueue.REQUESTS, "file", new byte[bytes]);
        return new PendingRequest(counter, message, 1, false, 0);
    }

    @Test
    void givesEachOnceInWhateverOrder() {
        long seed = Seeds.fresh();
        Random random = new Random(seed);
        HeldRequests held = new HeldRequests(Long.MAX_VALUE);
        TreeMap<Long, PendingRequest> expected = new TreeMap<>();
        long counter = 0;
        for (int i = 0; i < 100_000; i++) {
            if (random.nextInt(3) > 0 && expected.size() < 1000) {
                counter += 1 + random.nextInt(3);
                PendingRequest request = request(counter, 10);
                held.add(counter, request);
                expected.put(counter, request);
            } else {
                Long wanted = expected.ceilingKey(Math.max(0, counter - random.nextInt(500)));
                if (wanted != null) {
                    assertThat(held.take(wanted)).as("seed %d", seed).isSameAs(expected.remove(wanted));
                    assertThat(held.take(wanted)).as("seed %d", seed).isNull();
                }
            }
        }
        expected.forEach((left, request) ->
                assertThat(held.take(left)).as("seed %d", seed).isSameAs(request));
    }

    @Test
    void dropsTheOldestWhenThereAreTooMany() {
        HeldRequests held = new HeldRequests(Long.MAX_VALUE);
        for (long counter = 0; counter <= HeldRequests.MAX_REQUESTS; counter++) {
            held.add(counter, request(counter, 1));
        }
        assertThat(held.take(0)).isNull();
        assertThat(held.mayHaveDropped(0)).isTrue();
        assertThat(held.mayHaveDropped(1)).isFalse();
        assertThat(held.take(1)).isNotNull();
    }

    @Test
    void dropsTheOldestWhenTheyAreTooLarge() {
        HeldRequests held = new HeldRequests(1000);
        for (long counter = 0; counter < 5; counter++) {
            held.add(counter, request(counter, 400));
        }
        assertThat(held.take(2)).isNull();
        assertThat(held.take(3)).isNotNull();
        assertThat(held.take(4)).isNotNull();
    }
}
