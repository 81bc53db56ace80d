package io.waybill.testing.core;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class WaitsTest {

    private final AtomicInteger looks = new AtomicInteger();

    @AfterEach
    void clearInterrupt() {
        Thread.interrupted();
    }

    @Test
    void looksUntilTheConditionIsMet() {
        Waits.until("the third look", () -> looks.incrementAndGet() == 3);
        assertThat(looks).hasValue(3);
    }

    @Test
    void saysWhatItWaitedForWhenTheTimeOfItsTestIsOver() {
        assertThatThrownBy(() -> Waits.until("a bus", () -> {
                    if (looks.incrementAndGet() == 3) {
                        Thread.currentThread().interrupt();
                    }
                    return false;
                }))
                .isInstanceOf(AssertionError.class)
                .hasMessage("interrupted after 0 s: a bus");
        assertThat(Thread.currentThread().isInterrupted()).isTrue();
    }

    @Test
    void waitsOnAThreadThatItsTestHasInterrupted() {
        Thread.currentThread().interrupt();
        Waits.until("the third look", () -> looks.incrementAndGet() == 3);
        assertThat(Thread.currentThread().isInterrupted()).isTrue();
    }
}
