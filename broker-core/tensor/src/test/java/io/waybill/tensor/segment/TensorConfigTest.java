package io.waybill.tensor.segment;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(10)
class TensorConfigTest {

    @Test
    void hasDefaults() {
        assertThat(TensorConfig.DEFAULTS)
                .isEqualTo(new TensorConfig(64 << 20, TensorConfig.TOTAL_BYTES_DEFAULT, 4096, 65536));
    }

    @Test
    void refusesWhatCannotWork() {
        assertThatThrownBy(() -> new TensorConfig(1000, 1 << 20, 0, 0)).hasMessageContaining("segment-bytes");
        assertThatThrownBy(() -> new TensorConfig(0, 1 << 20, 0, 0)).hasMessageContaining("segment-bytes");
        assertThatThrownBy(() -> new TensorConfig(8192, 4096, 0, 0)).hasMessageContaining("total-bytes");
        assertThatThrownBy(() -> new TensorConfig(4096, 4096, -1, 0)).hasMessageContaining("inline-bytes");
        assertThatThrownBy(() -> new TensorConfig(4096, 4096, 100, 99)).hasMessageContaining("inline-total-bytes");
    }
}
