package io.waybill.tensor;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Tensor;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** What PyTorch was seen to do with views of larger storages. */
@Timeout(60)
class CloneRuleTest {

    @TempDir
    Path directory;

    @RegisterExtension
    final NoLeaks leaks = new NoLeaks();

    private Transit transit;

    @BeforeEach
    void open() {
        transit = new Transit(directory, leaks);
    }

    @AfterEach
    void close() {
        transit.close();
    }

    @Test
    void aRowOfALargeMatrixTravelsAlone() throws Exception {
        HostStorage matrix = transit.filled(1024 * 1024 * 4);
        Tensor row = Transit.floats(matrix, 5 * 1024, 1024);
        ReceivedTensors received = transit.receive(transit.send(row));
        Tensor arrived = received.tensors().get(0);
        assertThat(arrived.storage().sizeBytes()).isEqualTo(1024 * 4);
        assertThat(arrived.storageOffset()).isZero();
        TensorSectionTest.assertSameElements(arrived, row);
        received.release();
        matrix.release();
    }

    @Test
    void aViewOfASmallStorageTravelsWithAllOfIt() throws Exception {
        HostStorage storage = transit.filled(4000);
        ReceivedTensors received = transit.receive(transit.send(Transit.floats(storage, 3, 10)));
        assertThat(received.tensors().get(0).storage().sizeBytes()).isEqualTo(4000);
        assertThat(received.tensors().get(0).storageOffset()).isEqualTo(3);
        received.release();
        storage.release();
    }

    @Test
    void twoLargeViewsTravelAsTheStorageTheyShare() throws Exception {
        HostStorage storage = transit.filled(4096 * 4);
        ReceivedTensors received =
                transit.receive(transit.send(Transit.floats(storage, 0, 3000), Transit.floats(storage, 1000, 3096)));
        List<Tensor> tensors = received.tensors();
        assertThat(tensors.get(0).storage()).isSameAs(tensors.get(1).storage());
        assertThat(tensors.get(0).storage().sizeBytes()).isEqualTo(4096 * 4);
        received.release();
        storage.release();
    }

    @Test
    void aSmallViewLosesItsSharingAndALargeOneKeepsTheStorage() throws Exception {
        HostStorage storage = transit.filled(4096 * 4);
        Tensor large = Transit.floats(storage, 0, 4096);
        Tensor small = Transit.floats(storage, 8, 2048);
        ReceivedTensors received = transit.receive(transit.send(small, large, small));
        assertThat(received.tensors().stream().map(Tensor::storage).distinct()).hasSize(3);
        assertThat(received.tensors().get(0).storage().sizeBytes()).isEqualTo(2048 * 4);
        assertThat(received.tensors().get(1).storage().sizeBytes()).isEqualTo(4096 * 4);
        TensorSectionTest.assertSameElements(received.tensors().get(2), small);
        received.release();
        storage.release();
    }

    @Test
    void theRuleBeginsAtEightKibibytesAndTwiceTheElements() throws Exception {
        assertThat(storageThatArrives(8191, 1)).isEqualTo(8191);
        assertThat(storageThatArrives(8192, 1)).isEqualTo(1);
        assertThat(storageThatArrives(8192, 4096)).isEqualTo(4096);
        assertThat(storageThatArrives(8192, 4097)).isEqualTo(8192);
        assertThat(storageThatArrives(8193, 4096)).isEqualTo(4096);
        assertThat(storageThatArrives(8193, 4097)).isEqualTo(8193);
    }

    private long storageThatArrives(long storageBytes, long elements) throws Exception {
        HostStorage storage = transit.filled(storageBytes);
        Tensor bytes = new Tensor(DType.UINT8, new long[] {elements}, new long[] {1}, 0, false, storage);
        ReceivedTensors received = transit.receive(transit.send(bytes));
        long size = received.tensors().get(0).storage().sizeBytes();
        received.release();
        storage.release();
        return size;
    }

    @Test
    void whatTravelsAloneIsContiguous() throws Exception {
        HostStorage matrix = transit.filled(512 * 512 * 8);
        Tensor everyThirdColumnUpwards =
                new Tensor(DType.FLOAT64, new long[] {3, 20, 40}, new long[] {1, -512, 3}, 511 * 512 + 7, true, matrix);
        ReceivedTensors received = transit.receive(transit.send(everyThirdColumnUpwards));
        assertThat(received.tensors().get(0).strides()).containsExactly(800, 40, 1);
        TensorSectionTest.assertSameElements(received.tensors().get(0), everyThirdColumnUpwards);
        received.release();
        matrix.release();
    }

    @Test
    void anExpandedTensorOfMoreElementsThanItsStorageIsNotUnrolled() throws Exception {
        HostStorage storage = transit.filled(16384);
        Tensor expanded = new Tensor(DType.INT64, new long[] {1L << 61, 2}, new long[] {0, 1}, 0, false, storage);
        ReceivedTensors received = transit.receive(transit.send(expanded));
        assertThat(received.tensors().get(0).storage().sizeBytes()).isEqualTo(16384);
        assertThat(received.tensors().get(0).strides()).containsExactly(0, 1);
        received.release();
        storage.release();
    }
}
