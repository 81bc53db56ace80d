package io.waybill.tensor;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.device.DeviceConverter;
import io.waybill.api.device.DeviceStream;
import io.waybill.api.device.MemorySharing;
import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Device;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import io.waybill.api.tensor.TensorBuffers;
import io.waybill.device.DeviceMemory;
import io.waybill.testing.core.Seeds;
import io.waybill.wire.MalformedRecordException;
import io.waybill.wire.MessageBuffer;
import io.waybill.wire.RecordView;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(60)
class TensorSectionTest {

    @TempDir
    Path directory;

    @RegisterExtension
    final NoLeaks leaks = new NoLeaks();

    private Transit transit;

    static LongStream seeds() {
        return Seeds.each(1, 2, 3, 4, 5, 6, 7, 8);
    }

    @BeforeEach
    void open() {
        transit = new Transit(directory, leaks);
    }

    @AfterEach
    void close() {
        transit.close();
    }

    @ParameterizedTest
    @EnumSource(DType.class)
    void carriesEveryElementType(DType dtype) throws Exception {
        for (int count : new int[] {3, 5000}) {
            HostStorage storage = transit.filled((long) count * dtype.sizeBytes());
            Tensor sent = Tensor.contiguous(dtype, new long[] {count}, storage);
            ReceivedTensors received = transit.receive(transit.send(sent));
            assertSame(received.tensors().get(0), sent);
            received.release();
            storage.release();
        }
    }

    @Test
    void carriesScalarsAndEmptyTensors() throws Exception {
        HostStorage one = transit.filled(8);
        HostStorage none = transit.filled(0);
        Tensor scalar = new Tensor(DType.INT64, new long[0], new long[0], 0, true, one);
        Tensor empty = new Tensor(DType.FLOAT32, new long[] {0, 3}, new long[] {3, 1}, 0, false, none);
        Tensor emptyView = new Tensor(DType.UINT8, new long[] {2, 0}, new long[] {1, 1}, 7, false, one);
        ReceivedTensors received = transit.receive(transit.send(scalar, empty, emptyView));
        assertSame(received.tensors().get(0), scalar);
        assertSame(received.tensors().get(1), empty);
        assertSame(received.tensors().get(2), emptyView);
        assertThat(received.tensors().get(1).storage().address() % 64).isZero();
        received.release();
        one.release();
        none.release();
    }

    @Test
    void carriesAnEmptyTensorWhoseStridesAreBeyondMeaning() throws Exception {
        HostStorage none = transit.filled(0);
        long[] strides = {Long.MAX_VALUE, Long.MIN_VALUE, -1};
        Tensor sent = new Tensor(DType.FLOAT64, new long[] {1L << 40, 1L << 40, 0}, strides, 0, false, none);
        ReceivedTensors received = transit.receive(transit.send(sent));
        assertSame(received.tensors().get(0), sent);
        received.release();
        none.release();
    }

    @Test
    void carriesSixtyFourDimensions() throws Exception {
        HostStorage storage = transit.filled(8);
        long[] sizes = new long[Tensor.MAX_DIMENSIONS];
        java.util.Arrays.fill(sizes, 1);
        sizes[63] = 8;
        Tensor sent = Tensor.contiguous(DType.UINT8, sizes, storage);
        ReceivedTensors received = transit.receive(transit.send(sent));
        assertSame(received.tensors().get(0), sent);
        received.release();
        storage.release();
    }

    /** Transposed, so that no stride is what it would be in a contiguous tensor of these sizes. */
    @ParameterizedTest
    @ValueSource(ints = {2, 3, 4, 5, 6, 7, 8, 16, 64})
    void keepsTheStridesOfAllDimensions(int dimensions) throws Exception {
        long[] sizes = new long[dimensions];
        long[] strides = new long[dimensions];
        long elements = 1;
        for (int i = 0; i < dimensions; i++) {
            sizes[i] = i < 2 || i % 9 == 0 ? 2 : 1;
            strides[i] = elements;
            elements = Math.min(2 * elements, 256);
        }
        HostStorage storage = transit.filled(4000);
        Tensor sent = new Tensor(DType.UINT8, sizes, strides, 3, false, storage);
        ReceivedTensors received = transit.receive(transit.send(sent));
        assertSame(received.tensors().get(0), sent);
        received.release();
        storage.release();
    }

    @ParameterizedTest
    @MethodSource("seeds")
    void carriesRandomViews(long seed) throws Exception {
        Random random = new Random(seed);
        for (int round = 0; round < 60; round++) {
            HostStorage storage = transit.filled(64 + random.nextInt(20000));
            Tensor[] sent = new Tensor[1 + random.nextInt(5)];
            for (int i = 0; i < sent.length; i++) {
                sent[i] = randomView(random, storage);
            }
            ReceivedTensors received = transit.receive(transit.send(sent));
            for (int i = 0; i < sent.length; i++) {
                assertSameElements(received.tensors().get(i), sent[i]);
            }
            received.release();
            storage.release();
        }
        transit.sender.reclaim();
        assertThat(transit.pool.usedBytes()).isZero();
    }

    private static Tensor randomView(Random random, Storage storage) {
        DType dtype = DType.values()[random.nextInt(DType.values().length)];
        long elements = storage.sizeBytes() / dtype.sizeBytes();
        while (true) {
            int dimensions = random.nextInt(7);
            long[] sizes = new long[dimensions];
            long[] strides = new long[dimensions];
            for (int i = 0; i < dimensions; i++) {
                sizes[i] = random.nextInt(dimensions > 3 ? 4 : 9);
                strides[i] = random.nextInt(41) - 10; // also 0, and downwards
            }
            try {
                long offset = random.nextInt((int) Math.max(1, elements));
                return new Tensor(dtype, sizes, strides, offset, random.nextBoolean(), storage);
            } catch (IllegalArgumentException outside) {
                // the next one may lie inside
            }
        }
    }

    @Test
    void keepsSharedStoragesShared() throws Exception {
        HostStorage storage = transit.filled(1000);
        Tensor whole = Transit.floats(storage, 0, 250);
        Tensor part = Transit.floats(storage, 100, 5, 30);
        ReceivedTensors received = transit.receive(transit.send(whole, part, whole));
        Storage shared = received.tensors().get(0).storage();
        assertThat(received.tensors()).allMatch(t -> t.storage() == shared);
        assertThat(shared.sizeBytes()).isEqualTo(1000);
        assertSame(received.tensors().get(1), part);
        received.release();
        storage.release();
    }

    @Test
    void inlinesSmallStoragesUpToTheLimitOfARecord() throws Exception {
        HostStorage[] storages = new HostStorage[30];
        Tensor[] sent = new Tensor[30];
        for (int i = 0; i < sent.length; i++) {
            storages[i] = transit.filled(4096);
            sent[i] = Tensor.contiguous(DType.UINT8, new long[] {4096}, storages[i]);
        }
        MessageBuffer record = transit.send(sent);
        SectionView section = transit.section(record);
        assertThat(section.isInline(15)).isTrue();
        assertThat(section.isInline(16)).isFalse();
        assertThat(section.lease(16)).as("small storages share a loan").isEqualTo(section.lease(29));
        ReceivedTensors received = transit.receive(record);
        for (int i = 0; i < sent.length; i++) {
            assertSame(received.tensors().get(i), sent[i]);
            assertThat(received.tensors().get(i).storage().address() % 64).isZero();
            storages[i].release();
        }
        received.release();
        assertThat(transit.returned.count()).isEqualTo(1);
    }

    @Test
    void carriesTheMostTensorsAndRefusesOneMore() throws Exception {
        HostStorage storage = transit.filled(4);
        Tensor one = Transit.floats(storage, 0, 1);
        Tensor[] max = Collections.nCopies(32_768, one).toArray(new Tensor[0]);
        ReceivedTensors received = transit.receive(transit.send(max));
        assertThat(received.tensors()).hasSize(32_768);
        received.release();
        assertThatThrownBy(() -> transit.sender.plan(Collections.nCopies(32_769, one), Transit.RECEIVER, Transit.SAME))
                .isInstanceOfSatisfying(
                        CallException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.TOO_LARGE))
                .hasMessageContaining("32768")
                .hasMessageContaining("32769");
        storage.release();
    }

    @Test
    void carriesAThousandStoragesOfEverySizeUnderFewLeases() throws Exception {
        Tensor[] sent = new Tensor[1000];
        for (int i = 0; i < sent.length; i++) {
            Storage storage = i % 3 == 0 ? transit.pool.allocate(i * 97) : transit.host.allocate(i * 97);
            Transit.fill(storage, 0);
            sent[i] = Tensor.contiguous(DType.UINT8, new long[] {i * 97}, storage);
        }
        ReceivedTensors received = transit.receive(transit.send(sent));
        for (int i = 0; i < sent.length; i++) {
            assertSame(received.tensors().get(i), sent[i]);
            sent[i].storage().release();
        }
        assertThat(transit.sender.leases()).isEqualTo(16);
        received.release();
        transit.sender.reclaim();
        assertThat(transit.sender.leases()).isZero();
        assertThat(transit.pool.usedBytes()).isZero();
    }

    /** A record with a tensor that is shared, with a handle of 5 bytes. */
    private MessageBuffer shared() {
        Device toy = Device.parse("toy:0");
        transit.devices.register("toy", new SharingHandles());
        DeviceTargets sharing = new DeviceTargets() {
            @Override
            public Device target(Device local) {
                return local;
            }

            @Override
            public boolean shares() {
                return true;
            }
        };
        Tensor tensor = new DeviceMemory(toy, 10_000, new AtomicInteger()).tensor();
        Plan plan = transit.sender.plan(List.of(tensor), Transit.RECEIVER, sharing);
        MessageBuffer record = transit.write(plan);
        plan.committed();
        return record;
    }

    @Test
    void carriesTheHandleOfWhatIsShared() throws Exception {
        SectionView section = transit.section(shared());
        assertThat(section.isShared(0)).isTrue();
        assertThat(section.isInline(0)).isFalse();
        assertThat(section.size(0)).isEqualTo(10_000);
        assertThat(section.handle(0)).containsExactly(1, 2, 3, 4, 5);
        assertThat(section.offset(0) % 64).isZero();
        Tensor described = DescribedTensors.of(Transit.checked(shared())).get(0);
        assertThat(DescribedTensors.isInline(described)).isFalse();
        assertThat(described.device()).isEqualTo(Device.parse("toy:0"));
    }

    static Stream<Arguments> liesAboutHandles() {
        return Stream.of(
                Arguments.of(TensorSection.SEGMENT_ID, 0L, "1 to 256 bytes"),
                Arguments.of(TensorSection.SEGMENT_ID, 257L, "1 to 256 bytes"),
                Arguments.of(TensorSection.SEGMENT_ID, -1L, "1 to 256 bytes"),
                Arguments.of(TensorSection.SEGMENT_ID, 65L, "last byte in use|1 to 256 bytes"),
                Arguments.of(TensorSection.OFFSET, 0L, "1 to 256 bytes"),
                Arguments.of(TensorSection.OFFSET, 1L << 40, "1 to 256 bytes"),
                Arguments.of(TensorSection.OFFSET, Long.MAX_VALUE - 63, "ends below|1 to 256 bytes"),
                Arguments.of(TensorSection.KIND, 0x00_01_02L, "from a device to a device"),
                Arguments.of(TensorSection.KIND, 0x01_00_02L, "from a device to a device"),
                Arguments.of(TensorSection.KIND, 0x01_01_03L, "kind 0 to 2"));
    }

    @ParameterizedTest
    @MethodSource("liesAboutHandles")
    void refusesHandlesThatAreNone(int field, long value, String reason) throws Exception {
        MessageBuffer record = shared();
        int at = new RecordView(record).sectionOffset() + TensorSection.HEADER_LENGTH + TensorSection.DEVICE_LENGTH;
        record.memory().putLong(at + field, value, ByteOrder.LITTLE_ENDIAN);
        record.seal(0);
        RecordView lying = new RecordView(record);
        lying.check();
        assertThatThrownBy(() -> transit.receiver.arrive(lying, transit.peer))
                .isInstanceOf(MalformedRecordException.class)
                .hasMessageMatching(".*(" + reason + ").*");
    }

    @Test
    void refusesSharedMemoryOfADeviceThatIsCalledCpu() throws Exception {
        MessageBuffer record = shared();
        int device = new RecordView(record).sectionOffset() + TensorSection.HEADER_LENGTH;
        record.memory().putStringWithoutLengthAscii(device + TensorSection.DEVICE_NAME, "cpu");
        record.seal(0);
        RecordView lying = new RecordView(record);
        lying.check();
        assertThatThrownBy(() -> transit.receiver.arrive(lying, transit.peer))
                .isInstanceOf(MalformedRecordException.class)
                .hasMessageContaining("other than cpu");
    }

    /** Shares with a handle of 5 bytes. */
    private static final class SharingHandles implements DeviceConverter, MemorySharing {
        @Override
        public Optional<String> unavailable() {
            return Optional.empty();
        }

        @Override
        public Optional<Storage> prepareForSending(Storage storage, List<DeviceStream> streams, TensorBuffers buffers) {
            throw new IllegalStateException("not to be copied");
        }

        @Override
        public Storage allocateForReceiving(Storage arrived, Device target, List<DeviceStream> streams) {
            throw new IllegalStateException("not to be copied");
        }

        @Override
        public Optional<ByteBuffer> share(Storage storage, List<DeviceStream> streams) {
            return Optional.of(ByteBuffer.wrap(new byte[] {1, 2, 3, 4, 5}));
        }

        @Override
        public Storage open(ByteBuffer handle, Storage shared, Device target, List<DeviceStream> streams) {
            throw new IllegalStateException("not to be opened");
        }
    }

    @Test
    void takesNoRoomWithoutTensors() {
        Plan plan = transit.sender.plan(List.of(), Transit.RECEIVER, Transit.SAME);
        assertThat(plan.sectionLength(17)).isZero();
        plan.abandoned();
    }

    @Test
    void refusesToEndAPlanTwice() {
        Plan plan = transit.sender.plan(List.of(), Transit.RECEIVER, Transit.SAME);
        plan.committed();
        assertThatThrownBy(plan::abandoned).isInstanceOf(IllegalStateException.class);
    }

    private static void assertSame(Tensor found, Tensor expected) {
        assertThat(found.strides())
                .as("strides of %d dimensions", expected.dimensions())
                .isEqualTo(expected.strides());
        assertThat(found.storageOffset()).isEqualTo(expected.storageOffset());
        assertThat(found.storage().sizeBytes()).isEqualTo(expected.storage().sizeBytes());
        assertSameElements(found, expected);
    }

    static void assertSameElements(Tensor found, Tensor expected) {
        assertThat(found.dtype()).isEqualTo(expected.dtype());
        assertThat(found.sizes()).isEqualTo(expected.sizes());
        assertThat(found.requiresGrad()).isEqualTo(expected.requiresGrad());
        assertThat(elements(found)).isEqualTo(elements(expected));
    }

    /** The elements in row-major order, read one by one. */
    static byte[] elements(Tensor tensor) {
        int elementBytes = tensor.dtype().sizeBytes();
        int count = (int) tensor.elementCount();
        byte[] all = new byte[count * elementBytes];
        ByteBuffer bytes = tensor.storage().bytes(0, (int) tensor.storage().sizeBytes());
        for (int i = 0; i < count; i++) {
            long at = tensor.storageOffset();
            int rest = i;
            for (int d = tensor.dimensions() - 1; d >= 0; d--) {
                at += rest % tensor.size(d) * tensor.stride(d);
                rest /= (int) tensor.size(d);
            }
            bytes.get((int) at * elementBytes, all, i * elementBytes, elementBytes);
        }
        return all;
    }
}
