package io.waybill.bench.call;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.bench.measure.EchoHandler;
import io.waybill.bench.measure.Work;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class CallLoadTest {

    private static final CallLoad.Timing TIMING = new CallLoad.Timing(20, 5);
    private static final EchoHandler WORKING = new EchoHandler(EchoHandler.Kind.PLAIN, new Work(50, 1_000));

    @Test
    void isReadFromItsArgument() {
        CallLoad load = new CallLoad(CallLoad.Form.NAMED, 64, WORKING, 16, TIMING);

        assertThat(CallLoad.parse(load.argument())).isEqualTo(load);
    }

    @Test
    void needsRoomForTheTimeOfTheWork() {
        assertThatThrownBy(() -> new CallLoad(CallLoad.Form.RAW, 4, WORKING, 1, TIMING))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("at least 8 bytes, found 4");
    }

    @Test
    void hasNoWorkOnATensor() {
        assertThatThrownBy(() -> new CallLoad(CallLoad.Form.TENSOR, 64, WORKING, 1, TIMING))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("expected a handler without work");
    }
}
