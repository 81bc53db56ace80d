package io.waybill.tensor;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.host.NativeCalls;
import io.waybill.tensor.memory.NativeMemory;
import io.waybill.testing.core.Waits;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.agrona.UnsafeApi;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(150)
class HostMemoryTest {

    private final NativeMemory memory = new NativeMemory(NativeCalls.load());
    private final HostMemory host = new HostMemory(memory);

    @Test
    void givesAlignedMemoryOfAnySize() {
        for (long size : new long[] {0, 1, 63, 64, 4096, 1_000_003}) {
            HostStorage storage = host.allocate(size);
            assertThat(storage.address() % 64).isZero();
            assertThat(storage.sizeBytes()).isEqualTo(size);
            ByteBuffer bytes = storage.bytes(0, (int) size);
            assertThat(bytes.capacity()).isEqualTo((int) size);
            assertThat(bytes.order()).isEqualTo(ByteOrder.nativeOrder());
            storage.release();
        }
        assertThat(host.liveBytes()).isZero();
    }

    @Test
    void showsWhatNativeCodeWrites() {
        HostStorage storage = host.allocate(100);
        UnsafeApi.putLong(storage.address() + 8, 0x1122334455667788L);
        assertThat(storage.bytes(8, 8).getLong()).isEqualTo(0x1122334455667788L);
        storage.release();
    }

    @Test
    void keepsAccount() {
        HostStorage one = host.allocate(1000);
        HostStorage two = host.allocate(500);
        assertThat(host.liveBytes()).isEqualTo(1500);
        one.retain().release();
        one.release();
        assertThat(host.liveBytes()).isEqualTo(500);
        two.release();
    }

    @Test
    void throwsOnUseAfterRelease() {
        HostStorage storage = host.allocate(100);
        storage.release();
        assertThatThrownBy(storage::address).isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(() -> storage.bytes(0, 1)).isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(storage::retain).isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(storage::release).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void refusesPartsOutsideAStorage() {
        HostStorage storage = host.allocate(100);
        assertThatThrownBy(() -> storage.bytes(99, 2)).isInstanceOf(IndexOutOfBoundsException.class);
        assertThatThrownBy(() -> storage.bytes(-1, 2)).isInstanceOf(IndexOutOfBoundsException.class);
        storage.release();
    }

    @Test
    void holdsMemoryBackWhileAViewOfItIsReachable() {
        HostStorage storage = host.allocate(1 << 20);
        ByteBuffer kept = storage.bytes(4096, 8192).slice(4096, 100);
        storage.release();
        assertThat(memory.heldBackBytes()).isEqualTo(1 << 20);
        for (int i = 0; i < 5; i++) {
            System.gc();
            memory.reap();
        }
        assertThat(memory.heldBackBytes()).isEqualTo(1 << 20);
        kept.put(0, (byte) 1); // wrong, and harmless to the process
        kept = null;
        Waits.until("nothing is held back", () -> {
            System.gc();
            memory.reap();
            return memory.heldBackBytes() == 0;
        });
    }

    @Test
    void freesAtOnceWhatWasNotSeen() {
        HostStorage storage = host.allocate(1 << 20);
        UnsafeApi.putByte(storage.address(), (byte) 1);
        storage.release();
        assertThat(memory.heldBackBytes()).isZero();
    }

    @Test
    void saysSoWhenThereIsNoMemory() {
        assertThatThrownBy(() -> host.allocate(Long.MAX_VALUE - 1000))
                .isInstanceOfSatisfying(
                        CallException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.DEVICE_FULL));
        assertThatThrownBy(() -> host.allocate(1L << 60)).isInstanceOf(CallException.class);
        assertThatThrownBy(() -> host.allocate(-1)).isInstanceOf(IllegalArgumentException.class);
        assertThat(host.liveBytes()).isZero();
    }
}
