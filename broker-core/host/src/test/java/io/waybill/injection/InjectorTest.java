package io.waybill.injection;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.MessageType;
import io.waybill.injection.Fate.Way;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
class InjectorTest {

    private static final MessageType REQUEST = MessageType.RREF_FORK_REQUEST;

    private static Way next(Injector injector, MessageType type, int to, String payload) {
        return injector.next(type, to, payload.getBytes(StandardCharsets.UTF_8)).way();
    }

    @Test
    void failsTheFirstAttemptsOfEachRequest() {
        Injector injector =
                new Injector(InjectionSettings.NONE.withFail(REQUEST).withTimes(2));

        assertThat(next(injector, REQUEST, 1, "one")).isEqualTo(Way.FAILED);
        assertThat(next(injector, REQUEST, 1, "two")).isEqualTo(Way.FAILED);
        assertThat(next(injector, REQUEST, 1, "one")).isEqualTo(Way.FAILED);
        assertThat(next(injector, REQUEST, 1, "one")).isEqualTo(Way.SENT);
        assertThat(next(injector, REQUEST, 2, "one")).isEqualTo(Way.FAILED);
        assertThat(next(injector, REQUEST, 1, "two")).isEqualTo(Way.FAILED);
        assertThat(next(injector, REQUEST, 1, "two")).isEqualTo(Way.SENT);
        assertThat(next(injector, MessageType.RREF_CHILD_ACCEPT, 1, "one")).isEqualTo(Way.SENT);
    }

    @Test
    void losesARequestAfterItFailed() {
        Injector injector =
                new Injector(InjectionSettings.NONE.withFail(REQUEST).withDrop(REQUEST));

        assertThat(next(injector, REQUEST, 1, "one")).isEqualTo(Way.FAILED);
        assertThat(next(injector, REQUEST, 1, "one")).isEqualTo(Way.LOST);
        assertThat(next(injector, REQUEST, 1, "one")).isEqualTo(Way.SENT);
    }

    /** PyTorch's {@code num_fail_sends = 0}. */
    @Test
    void failsNothingZeroTimes() {
        Injector injector = new Injector(
                InjectionSettings.NONE.withFail(REQUEST).withDrop(REQUEST).withTimes(0));

        assertThat(next(injector, REQUEST, 1, "one")).isEqualTo(Way.SENT);
    }

    @Test
    void delaysWithoutSwappingAndCopiesBoth() {
        Injector injector = new Injector(InjectionSettings.NONE
                .withDelay(REQUEST, Duration.ofMillis(7))
                .withReorder(REQUEST, MessageType.RREF_CHILD_ACCEPT)
                .withDuplicate(REQUEST, MessageType.RREF_USER_DELETE));

        assertThat(injector.next(REQUEST, 1, new byte[0])).isEqualTo(new Fate(Way.LATE, 7_000_000, 2));
        assertThat(injector.next(MessageType.RREF_CHILD_ACCEPT, 1, new byte[0])).isEqualTo(new Fate(Way.SWAPPED, 0, 1));
        assertThat(injector.next(MessageType.RREF_USER_DELETE, 1, new byte[0])).isEqualTo(new Fate(Way.SENT, 0, 2));
    }

    @Test
    void forgetsTheLeastRecentlySent() {
        Injector injector = new Injector(InjectionSettings.NONE.withFail(REQUEST));

        for (int i = 0; i <= 1 << 16; i++) {
            assertThat(next(injector, REQUEST, 1, Integer.toString(i))).isEqualTo(Way.FAILED);
        }
        assertThat(next(injector, REQUEST, 1, "65536")).isEqualTo(Way.SENT);
        assertThat(next(injector, REQUEST, 1, "0")).isEqualTo(Way.FAILED);
    }
}
