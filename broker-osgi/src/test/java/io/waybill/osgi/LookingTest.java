package io.waybill.osgi;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.host.Host;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class LookingTest {

    @Test
    void looksAgainAfterAnExceptionAndAnError() throws Exception {
        AtomicInteger looks = new AtomicInteger();
        CountDownLatch third = new CountDownLatch(3);
        PeriodicCheck check = new PeriodicCheck(Host.real(), "looking", Duration.ofMillis(1), () -> {
            third.countDown();
            switch (looks.incrementAndGet()) {
                case 1 -> throw new IllegalStateException("planted");
                case 2 -> throw new StackOverflowError("planted");
                default -> {}
            }
        });
        try {
            assertThat(third.await(10, TimeUnit.SECONDS))
                    .as("whether it looked behind an exception and an error, after %d looks", looks.get())
                    .isTrue();
        } finally {
            check.end();
        }
    }
}
