package io.waybill.script.source;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.ErrorCode;
import io.waybill.api.RejectedMessageException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(value = 10, unit = TimeUnit.SECONDS)
class TorchErrorTest {

    @ParameterizedTest
    @ValueSource(strings = {"\nException raised from f at g.cpp:1", "\nframe #0: c10::f() + 0x68", ""})
    void leavesTheStackOut(String stack) {
        RejectedMessageException refusal = TorchError.refusal(new RuntimeException("it is too large" + stack));

        assertThat(refusal).hasMessage("it is too large");
        assertThat(refusal.code()).isEqualTo(ErrorCode.REFUSED);
    }

    @Test
    void leavesOutWhereKernelsAreRegistered() {
        RejectedMessageException refusal = TorchError.refusal(
                new RuntimeException(
                        "Could not run 'aten::empty' with arguments from the 'CUDA' backend. It is only available for [CPU, Meta].\n\n"
                                + "CPU: registered at RegisterCPU_1.cpp:2515 [kernel]\nMeta: registered at RegisterMeta_0.cpp:5509 [kernel]\n"));

        assertThat(refusal)
                .hasMessage(
                        "Could not run 'aten::empty' with arguments from the 'CUDA' backend. It is only available for [CPU, Meta].");
    }

    @Test
    void reportsWhenThereIsNoMemory() {
        RuntimeException error =
                new RuntimeException("DefaultCPUAllocator: can't allocate memory.\nframe #0: c10::alloc_cpu");

        assertThat(TorchError.refusal(error).code()).isEqualTo(ErrorCode.DEVICE_FULL);
    }

    @Test
    void throwsWhatIsNotLibtorchs() {
        IllegalStateException other = new IllegalStateException("ours");

        assertThatThrownBy(() -> TorchError.refusal(other)).isSameAs(other);
    }
}
