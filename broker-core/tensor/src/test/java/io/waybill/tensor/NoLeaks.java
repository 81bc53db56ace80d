package io.waybill.tensor;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.host.NativeCalls;
import io.waybill.tensor.memory.NativeMemory;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/** Fails a test that leaves host memory behind. */
public final class NoLeaks implements AfterEachCallback {

    public final NativeMemory memory = new NativeMemory(NativeCalls.load());
    final HostMemory host = new HostMemory(memory);

    @Override
    public void afterEach(ExtensionContext context) {
        assertThat(host.liveBytes()).as("bytes of storages never released").isZero();
    }
}
