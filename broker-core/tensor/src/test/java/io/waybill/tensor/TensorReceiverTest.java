package io.waybill.tensor;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.ErrorCode;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import io.waybill.tensor.ReceivedTensors.RecordCopy;
import io.waybill.tensor.segment.PeerSegments;
import io.waybill.tensor.segment.TensorConfig;
import io.waybill.wire.MessageBuffer;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ReadOnlyBufferException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.agrona.UnsafeApi;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class TensorReceiverTest {

    @TempDir
    Path directory;

    @RegisterExtension
    final NoLeaks leaks = new NoLeaks();

    private Transit transit;
    private HostStorage large;
    private HostStorage small;

    @BeforeEach
    void open() {
        transit = new Transit(directory, leaks);
        large = transit.filled(1 << 20);
        small = transit.filled(100);
    }

    @AfterEach
    void close() {
        large.release();
        small.release();
        transit.close();
    }

    private static Tensor bytes(Storage storage) {
        return Tensor.contiguous(DType.UINT8, new long[] {storage.sizeBytes()}, storage);
    }

    private Path onlySegment() {
        return transit.segments.resolve("1000.seg");
    }

    private void cutSegment(long size) throws IOException {
        try (FileChannel file = FileChannel.open(onlySegment(), StandardOpenOption.WRITE)) {
            file.truncate(size);
        }
        transit.clock.advance(Duration.ofMillis(1)); // for as long a size that was asked for holds
    }

    @Test
    void showsReadOnlyBytes() throws Exception {
        ReceivedTensors received = transit.receive(transit.send(bytes(large), bytes(small)));
        for (Tensor tensor : received.tensors()) {
            ByteBuffer view = tensor.storage().bytes(1, 4);
            assertThat(view.isReadOnly()).isTrue();
            assertThat(view.order()).isEqualTo(java.nio.ByteOrder.nativeOrder());
            assertThat(view.get(0)).isEqualTo(Transit.pattern(1, 0));
            assertThatThrownBy(() -> view.put(0, (byte) 1)).isInstanceOf(ReadOnlyBufferException.class);
            assertThatThrownBy(() -> tensor.storage().bytes(tensor.storage().sizeBytes(), 1))
                    .isInstanceOf(IndexOutOfBoundsException.class);
        }
        assertThatThrownBy(() -> received.tensors().add(bytes(small)))
                .isInstanceOf(UnsupportedOperationException.class);
        received.release();
    }

    @Test
    void throwsOnUseAfterRelease() throws Exception {
        ReceivedTensors received = transit.receive(transit.send(bytes(large), bytes(small)));
        List<ByteBuffer> kept =
                received.tensors().stream().map(t -> t.storage().bytes(0, 100)).toList();
        assertThat(received.release()).isEqualTo(RecordCopy.FREE);
        assertThat(received.release()).isEqualTo(RecordCopy.FREE);
        for (Tensor tensor : received.tensors()) {
            Storage storage = tensor.storage();
            assertThatThrownBy(storage::address).isInstanceOf(IllegalStateException.class);
            assertThatThrownBy(() -> storage.bytes(0, 1)).isInstanceOf(IllegalStateException.class);
            assertThatThrownBy(storage::retain).isInstanceOf(IllegalStateException.class);
            assertThatThrownBy(storage::release).isInstanceOf(IllegalStateException.class);
        }
        assertThat(transit.returned.count()).as("given back once").isEqualTo(1);
        kept.forEach(view -> view.get(99)); // wrong, and harmless to the process
    }

    @Test
    void retainedStoragesOutliveTheMessage() throws Exception {
        MessageBuffer record = transit.send(bytes(large), bytes(small));
        ReceivedTensors received = transit.receive(record);
        Storage inSegment = received.tensors().get(0).storage().retain();
        Storage inRecord = received.tensors().get(1).storage();
        long address = inRecord.address();
        inRecord.retain();
        assertThat(received.release()).isEqualTo(RecordCopy.IN_USE);
        assertThat(inRecord.address()).as("native code may have kept it").isEqualTo(address);
        assertThat(inRecord.bytes(50, 1).get(0)).isEqualTo(Transit.pattern(50, 0));
        assertThat(inSegment.bytes(50, 1).get(0)).isEqualTo(Transit.pattern(50, 0));
        assertThat(transit.returned.count()).isZero();
        inSegment.release();
        inRecord.release();
        assertThat(transit.returned.count()).isEqualTo(1);
        assertThat(received.release()).isEqualTo(RecordCopy.FREE);
    }

    @Test
    void detachedStoragesDoNotNeedTheRecord() throws Exception {
        HostStorage other = transit.filled(200);
        MessageBuffer record = transit.send(bytes(small), bytes(other), bytes(large));
        ReceivedTensors received = transit.receive(record);
        received.detach();
        record.memory().setMemory(0, record.length(), (byte) -1);
        Storage second = received.tensors().get(1).storage().retain();
        assertThat(received.tensors().get(0).storage().bytes(99, 1).get(0)).isEqualTo(Transit.pattern(99, 0));
        assertThat(second.address() % 64).isZero();
        assertThat(received.release()).isEqualTo(RecordCopy.FREE);
        assertThat(second.bytes(199, 1).get(0)).isEqualTo(Transit.pattern(199, 0));
        second.release();
        other.release();
        assertThatThrownBy(second::address).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void refusesASegmentThatWasCutShortBeforeItWasMapped() throws Exception {
        MessageBuffer record = transit.send(bytes(large));
        cutSegment(4096);
        assertThatThrownBy(() -> transit.receive(record))
                .isInstanceOfSatisfying(
                        RejectedMessageException.class,
                        e -> assertThat(e.code()).isEqualTo(ErrorCode.PEER_CORRUPT))
                .hasMessageContaining("1000.seg")
                .hasMessageContaining("4096 bytes");
        assertThat(transit.returned.count())
                .as("the sender gets its region back")
                .isEqualTo(1);
    }

    @Test
    void refusesASegmentThatWasCutShortAfterItWasMapped() throws Exception {
        transit.receive(transit.send(bytes(large))).release();
        MessageBuffer record = transit.send(bytes(small), bytes(large));
        cutSegment((1 << 20) - 1);
        assertThatThrownBy(() -> transit.receive(record))
                .isInstanceOf(RejectedMessageException.class)
                .hasMessageContaining("cut short");
        cutSegment(0);
        MessageBuffer again = transit.send(bytes(small), bytes(small));
        transit.receive(again).release();
    }

    @Test
    void reportsAfterwardsACutThatItWasTooEarlyToSee() throws Exception {
        transit.receive(transit.send(bytes(large))).release();
        MessageBuffer record = transit.send(bytes(large));
        try (FileChannel file = FileChannel.open(onlySegment(), StandardOpenOption.WRITE)) {
            file.truncate(4096);
        }
        ReceivedTensors received = transit.receive(record);
        assertThat(received.areCut()).isTrue();
        received.release();
    }

    @Test
    void refusesAnEmptyAndAMissingSegment() throws Exception {
        MessageBuffer record = transit.send(bytes(large));
        cutSegment(0);
        assertThatThrownBy(() -> transit.receive(record)).hasMessageContaining("inside its 0 bytes");
        Files.delete(onlySegment());
        TensorReceiver fresh = new TensorReceiver(
                transit.returned, transit.devices, transit.host, transit.memory, transit.files, transit.clock);
        try (PeerSegments peer = fresh.peer(Transit.SENDER, transit.segments)) {
            assertThatThrownBy(() -> fresh.decode(Transit.checked(record), peer))
                    .isInstanceOfSatisfying(
                            RejectedMessageException.class,
                            e -> assertThat(e.code()).isEqualTo(ErrorCode.TENSORS_GONE))
                    .hasMessageContaining("isn't there any more");
        }
    }

    @Test
    void refusesWhatLiesInASegmentsPlace() throws Exception {
        MessageBuffer record = transit.send(bytes(large));
        Path secret = Files.write(directory.resolve("secret"), new byte[1 << 21]);
        Files.delete(onlySegment());
        Files.createSymbolicLink(onlySegment(), secret);
        assertThatThrownBy(() -> transit.receive(record))
                .isInstanceOf(RejectedMessageException.class)
                .hasMessageContaining("regular file");
        Files.delete(onlySegment());
        Files.createDirectory(onlySegment());
        assertThatThrownBy(() -> transit.receive(record)).isInstanceOf(RejectedMessageException.class);
        Files.delete(onlySegment());
        new ProcessBuilder("mkfifo", onlySegment().toString()).start().waitFor();
        assertThatThrownBy(() -> transit.receive(record)).isInstanceOf(RejectedMessageException.class);
        Files.delete(onlySegment());
    }

    @Test
    void letsGoOfSegmentsThatTheSenderRemoved() throws Exception {
        try (Transit tight = new Transit(
                Files.createDirectory(directory.resolve("tight")),
                leaks,
                new TensorConfig(4 << 20, 16 << 20, 4096, 65536))) {
            HostStorage twelve = tight.filled(12 << 20);
            HostStorage fifteen = tight.filled(15 << 20);
            for (int i = 0; i < 4; i++) {
                tight.receive(tight.send(bytes(twelve))).release();
                tight.receive(tight.send(bytes(fifteen))).release();
            }
            assertThat(tight.peer.mappedCount()).isLessThanOrEqualTo(2);
            twelve.release();
            fifteen.release();
        }
    }

    @Test
    void storagesOutliveTheirPeer() throws Exception {
        ReceivedTensors received = transit.receive(transit.send(bytes(large)));
        transit.peer.close();
        Storage storage = received.tensors().get(0).storage();
        assertThat(storage.bytes(1000, 1).get(0)).isEqualTo(Transit.pattern(1000, 0));
        UnsafeApi.putByte(storage.address(), (byte) 1);
        received.release();
        assertThatThrownBy(() -> transit.receive(transit.send(bytes(large)))).isInstanceOf(IllegalStateException.class);
        transit = new Transit(Files.createDirectory(directory.resolve("second")), leaks);
    }

    @Test
    void tensorsThatArrivedCanBeSentOn() throws Exception {
        ReceivedTensors received = transit.receive(transit.send(bytes(large), bytes(small)));
        MessageBuffer echo = transit.send(received.tensors().toArray(new Tensor[0]));
        received.release();
        ReceivedTensors again = transit.receive(echo);
        TensorSectionTest.assertSameElements(again.tensors().get(0), bytes(large));
        TensorSectionTest.assertSameElements(again.tensors().get(1), bytes(small));
        again.release();
    }

    private static byte at(long address) {
        return UnsafeApi.getByte(address);
    }

    /** Returns the line of the kernel about the segment's mapping at an address, if there is one. */
    private Optional<String> mappingAt(long address) throws IOException {
        return mappings().stream()
                .filter(line -> {
                    String[] range = line.substring(0, line.indexOf(' ')).split("-");
                    return Long.parseUnsignedLong(range[0], 16) <= address
                            && address < Long.parseUnsignedLong(range[1], 16);
                })
                .findFirst();
    }

    private List<String> mappings() throws IOException {
        try (Stream<String> lines = Files.lines(Path.of("/proc/self/maps"))) {
            return lines.filter(line -> line.contains(onlySegment().toString())).toList();
        }
    }

    @Test
    void isReadWhereTheFileIsUntilItMayBeWritten() throws Exception {
        ReceivedTensors received = transit.receive(transit.send(bytes(large)));
        Storage storage = received.tensors().get(0).storage();
        long shared = storage.readAddress();
        assertThat(mappingAt(shared))
                .hasValueSatisfying(line -> assertThat(line).contains("r--s"));
        assertThat(at(shared + 1000)).isEqualTo(Transit.pattern(1000, 0));

        long written = storage.address() + 1000;
        UnsafeApi.putByte(written, (byte) 99);
        assertThat(at(storage.readAddress() + 1000)).as("what was written").isEqualTo((byte) 99);
        assertThat(at(shared + 1000)).as("in the peer's file").isEqualTo(Transit.pattern(1000, 0));
        received.release();
    }

    @Test
    void aStorageThatArrivesTwiceIsReadWhereTheFileIs() throws Exception {
        Storage own = transit.pool.allocate(1 << 20);
        Transit.fill(own, 5);
        ReceivedTensors first = transit.receive(transit.send(bytes(own)));
        ReceivedTensors second = transit.receive(transit.send(bytes(own)));
        Storage ofFirst = first.tensors().get(0).storage();
        Storage ofSecond = second.tensors().get(0).storage();
        UnsafeApi.putByte(ofFirst.address(), (byte) 99);
        long shared = ofSecond.readAddress();
        assertThat(mappingAt(shared))
                .hasValueSatisfying(line -> assertThat(line).contains("r--s"));
        assertThat(at(shared + 1000)).isEqualTo(Transit.pattern(1000, 5));
        assertThat(at(shared)).isEqualTo(Transit.pattern(0, 5));

        transit.peer.close();
        first.release();
        assertThat(mappingAt(shared)).as("as long as it is used").isPresent();
        second.release();
        own.release();
        assertThat(mappings()).as("only the sender's own").hasSize(1);
        transit = new Transit(Files.createDirectory(directory.resolve("second")), leaks);
    }
}
