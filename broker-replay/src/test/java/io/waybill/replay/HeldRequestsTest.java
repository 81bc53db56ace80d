package io.waybill.replay;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.WorkerInfo;
import io.waybill.journal.JournalQueue;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
class HeldRequestsTest {

    private static Asked asked(long counter, int bytes) {
        RecordedMessage message =
                new RecordedMessage(new WorkerInfo(3, "caller"), JournalQueue.REQUESTS, "file", new byte[bytes]);
        return new Asked(counter, message, 1, false, 0);
    }

    @Test
    void givesEachOnceInWhateverOrder() {
        long seed = System.nanoTime();
        Random random = new Random(seed);
        HeldRequests held = new HeldRequests(Long.MAX_VALUE);
        TreeMap<Long, Asked> expected = new TreeMap<>();
        long counter = 0;
        for (int i = 0; i < 100_000; i++) {
            if (random.nextInt(3) > 0 && expected.size() < 1000) {
                counter += 1 + random.nextInt(3);
                Asked asked = asked(counter, 10);
                held.add(counter, asked);
                expected.put(counter, asked);
            } else {
                Long wanted = expected.ceilingKey(Math.max(0, counter - random.nextInt(500)));
                if (wanted != null) {
                    assertThat(held.take(wanted)).as("seed %d", seed).isSameAs(expected.remove(wanted));
                    assertThat(held.take(wanted)).as("seed %d", seed).isNull();
                }
            }
        }
        expected.forEach(
                (left, asked) -> assertThat(held.take(left)).as("seed %d", seed).isSameAs(asked));
    }

    @Test
    void dropsTheOldestWhenThereAreTooMany() {
        HeldRequests held = new HeldRequests(Long.MAX_VALUE);
        for (long counter = 0; counter <= HeldRequests.MOST; counter++) {
            held.add(counter, asked(counter, 1));
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
            held.add(counter, asked(counter, 400));
        }
        assertThat(held.take(2)).isNull();
        assertThat(held.take(3)).isNotNull();
        assertThat(held.take(4)).isNotNull();
    }
}
