package io.waybill.journal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class QuotaTest {

    private static final Path FILE = Path.of("file");
    private static final long LIMIT = 1000;
    private static final int ROUNDS = 2000;
    private static final int WRITERS = 2;

    private final AtomicLong onDisk = new AtomicLong();
    private final Quota quota = new Quota(UnreservedDisk.by((file, offset, length) -> onDisk.addAndGet(length)), LIMIT);

    private void measure() {
        long before = quota.reservedBytes();
        quota.measured(onDisk.get(), before);
    }

    @Test
    void refusesWhatIsBeyondAndTakesItWhenSomethingIsRemoved() throws IOException {
        measure();
        quota.reserve(FILE, 0, 900);
        assertThatThrownBy(() -> quota.reserve(FILE, 900, 101))
                .isInstanceOf(IOException.class)
                .hasMessage("the quota retention.max-bytes of 1000 bytes is reached: 900 are in use");
        quota.reserve(FILE, 900, 100);
        onDisk.addAndGet(-500);
        quota.removed(500);
        quota.reserve(FILE, 1000, 500);
        assertThat(quota.usedBytes()).isEqualTo(onDisk.get()).isEqualTo(LIMIT);
    }

    @Test
    void isNotExceededByWritersThatAskAtOnceDuringAMeasurement() throws InterruptedException {
        for (int round = 0; round < ROUNDS; round++) {
            onDisk.set(0);
            measure();
            AtomicBoolean ended = new AtomicBoolean();
            Thread measuring = new Thread(() -> {
                while (!ended.get()) {
                    measure();
                }
            });
            measuring.start();
            List<Thread> writers = new ArrayList<>();
            for (int i = 0; i < WRITERS; i++) {
                writers.add(new Thread(this::reserveAll));
            }
            writers.forEach(Thread::start);
            for (Thread writer : writers) {
                writer.join();
            }
            ended.set(true);
            measuring.join();
            assertThat(onDisk.get()).isLessThanOrEqualTo(LIMIT).isGreaterThan(LIMIT / 2);
        }
    }

    private void reserveAll() {
        try {
            while (true) {
                quota.reserve(FILE, 0, 70);
            }
        } catch (IOException e) {
            assertThat(e).hasMessageContaining("is reached");
        }
    }
}
