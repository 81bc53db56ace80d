package io.waybill.tensor;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import org.agrona.UnsafeApi;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** Storages beyond what one buffer reaches. Few of their pages are touched. */
@Tag("large")
@Timeout(120)
class LargeStorageTest {

    private static final long SIZE = (5L << 29) + 12_345; // 2.5 GiB and a bit
    private static final long[] PLACES = {0, 1 << 30, Integer.MAX_VALUE - 4L, (1L << 31) + 5, SIZE - 8};

    @TempDir
    Path directory;

    @RegisterExtension
    final NoLeaks leaks = new NoLeaks();

    private Transit transit;

    @BeforeEach
    void open() throws IOException {
        assumeThat(Files.getFileStore(directory).getUsableSpace()).isGreaterThan(SIZE + (1L << 30));
        transit = new Transit(directory, leaks);
    }

    @AfterEach
    void close() {
        if (transit != null) {
            transit.close();
        }
    }

    @Test
    void travelsInASegmentOfItsOwn() throws Exception {
        Storage storage = transit.pool.allocate(SIZE);
        assertThat(storage.sizeBytes()).isEqualTo(SIZE);
        for (long position : PLACES) {
            storage.bytes(position, 8).putLong(0, ~position);
        }
        Tensor whole = Tensor.contiguous(DType.UINT8, new long[] {SIZE}, storage);
        Tensor end = new Tensor(DType.UINT8, new long[] {2, SIZE / 2}, new long[] {SIZE / 2, 1}, 1, false, storage);
        ReceivedTensors received = transit.receive(transit.send(whole, end));
        Storage arrived = received.tensors().get(0).storage();
        assertThat(received.tensors().get(1).storage()).isSameAs(arrived);
        assertThat(arrived.sizeBytes()).isEqualTo(SIZE);
        for (long position : PLACES) {
            assertThat(arrived.bytes(position, 8).getLong(0)).isEqualTo(~position);
            assertThat(UnsafeApi.getLong(arrived.readAddress() + position)).isEqualTo(~position);
        }
        UnsafeApi.putLong(arrived.address() + SIZE - 8, 7);
        assertThat(storage.bytes(SIZE - 8, 8).getLong(0)).isEqualTo(~(SIZE - 8));
        received.release();
        storage.release();
    }

    @Test
    void isSeenThroughBuffersOfAnySize() {
        HostStorage storage = transit.host.allocate(SIZE);
        ByteBuffer first = storage.bytes(0, Integer.MAX_VALUE);
        ByteBuffer last = storage.bytes(SIZE - Integer.MAX_VALUE, Integer.MAX_VALUE);
        first.putLong(Integer.MAX_VALUE - 8, 42);
        assertThat(last.getLong((int) (Integer.MAX_VALUE - 8 - (SIZE - Integer.MAX_VALUE))))
                .isEqualTo(42);
        last.putLong(Integer.MAX_VALUE - 8, 43);
        assertThat(storage.bytes(SIZE - 8, 8).getLong(0)).isEqualTo(43);
        storage.release();
        assertThat(first.getLong(Integer.MAX_VALUE - 8)).as("released pages").isZero();
    }

    @Test
    void losesARowToTheCloneRule() throws Exception {
        HostStorage storage = transit.host.allocate(SIZE);
        storage.bytes((1L << 31) + 16, 4).putFloat(0, 1.5f);
        Tensor row = Transit.floats(storage, (1L << 29) + 4, 10);
        ReceivedTensors received = transit.receive(transit.send(row));
        assertThat(received.tensors().get(0).storage().sizeBytes()).isEqualTo(40);
        assertThat(received.tensors().get(0).storage().bytes(0, 4).getFloat(0)).isEqualTo(1.5f);
        received.release();
        storage.release();
    }
}
