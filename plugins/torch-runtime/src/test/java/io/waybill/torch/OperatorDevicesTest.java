package io.waybill.torch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.waybill.api.ErrorCode;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Value;
import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Device;
import io.waybill.api.tensor.SparseTensor;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Tensors on a GPU as libtorch sees them. The libtorch here has no CUDA: it makes tensors on a GPU and refuses to compute with them. What the operators
 * of another one compute is not tested.
 */
@Timeout(value = 2, unit = TimeUnit.MINUTES)
class OperatorDevicesTest {

    private static final Device GPU = Device.parse("cuda:1");
    private static final long ADDRESS = 0x7f12_3456_7000L;
    private static final long[] SIZES = {4};

    @BeforeAll
    static void load() {
        new LibTorch(Path.of(System.getProperty(LibTorch.NATIVES_PROPERTY)), 1).load();
    }

    /** Four floats on a GPU, which no host may touch. */
    private static final class OnGpu implements Storage {
        @Override
        public Device device() {
            return GPU;
        }

        @Override
        public long sizeBytes() {
            return 16;
        }

        @Override
        public long address() {
            throw new IllegalStateException("the storage is not in host memory");
        }

        @Override
        public ByteBuffer bytes(long offset, int length) {
            throw new IllegalStateException("the storage is not in host memory");
        }

        @Override
        public long deviceAddress() {
            return ADDRESS;
        }

        @Override
        public Storage retain() {
            return this;
        }

        @Override
        public void release() {}
    }

    private static org.bytedeco.pytorch.Tensor live() {
        Storage storage = new OnGpu();
        TensorOptions options = OperatorDevices.on(GPU, LeasedTensors.options(tensor()));
        return OperatorDevices.over(storage.device(), storage.deviceAddress(), SIZES, options);
    }

    private static Tensor tensor() {
        return Tensor.contiguous(DType.FLOAT32, SIZES, new OnGpu());
    }

    @Test
    @SuppressWarnings("try")
    void aTensorIsWhereItsStorageIs() {
        try (PointerScope scope = new PointerScope()) {
            org.bytedeco.pytorch.Tensor live = live();
            assertThat(live.device().str().getString()).isEqualTo("cuda:1");
            assertThat(live.data_ptr().address()).isEqualTo(ADDRESS);
            assertThat(OperatorDevices.of(live)).isEqualTo(GPU);
            assertThat(OperatorDevices.of(torch.ones(1))).isEqualTo(Device.CPU);
            assertThatThrownBy(() -> torch.add(live, torch.ones(SIZES)))
                    .hasMessageContaining("Expected all tensors to be on the same device")
                    .hasMessageContaining("cuda:1 and cpu");
        }
    }

    @Test
    @SuppressWarnings("try")
    void aResultStaysWhereItIs() throws RejectedMessageException {
        DescribedResults results = LeasedTensors.whileUsed().results();
        try (PointerScope scope = new PointerScope()) {
            Tensor result = ((Value.OfTensor) results.value(live().detach())).value();
            assertThat(result.device()).isEqualTo(GPU);
            assertThat(result.storage().deviceAddress()).isEqualTo(ADDRESS);
            assertThatThrownBy(() -> result.storage().address())
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("cuda:1");
            assertThatThrownBy(() -> result.storage().bytes(0, 1)).isInstanceOf(IllegalStateException.class);
        } finally {
            results.release();
        }
    }

    @Test
    void aLibtorchWithoutCudaRefusesTensorsOnGpus() {
        refuses(() -> LeasedTensors.forCall().lease(tensor()), "cuda:1", "this libtorch has no CUDA");
        refuses(() -> LeasedTensors.whileUsed().lease(tensor()), "cuda:1", "this libtorch has no CUDA");
        Tensor indices = new Tensor(DType.INT64, new long[] {1, 1}, new long[] {1, 1}, 0, false, tensor().storage());
        Tensor values = new Tensor(DType.FLOAT32, new long[] {1}, new long[] {1}, 0, false, tensor().storage());
        refuses(
                () -> LeasedTensors.forCall().lease(new SparseTensor(indices, values, new long[] {9}, false)),
                "cuda:1",
                "this libtorch has no CUDA");
    }

    private static void refuses(ThrowingCallable lease, String... texts) {
        RejectedMessageException refusal = catchThrowableOfType(RejectedMessageException.class, lease);
        assertThat(refusal.code()).isEqualTo(ErrorCode.DEVICE_UNAVAILABLE);
        assertThat(refusal).hasMessageContainingAll(texts);
    }
}
