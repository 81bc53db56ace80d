package io.waybill.tensor;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.FilePart;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import io.waybill.tensor.segment.Leases;
import io.waybill.testing.core.Seeds;
import io.waybill.wire.MessageBuffer;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import org.agrona.UnsafeApi;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Regions from the sender to the receiver and back. */
@Timeout(120)
class LeasesTest {

    private static final int SIXTEEN_MB = 16_000_000;

    @TempDir
    Path directory;

    @RegisterExtension
    final NoLeaks leaks = new NoLeaks();

    private Transit transit;

    @BeforeEach
    void open() {
        transit = new Transit(directory, leaks, Transit.oneSegment());
    }

    @AfterEach
    void close() {
        transit.close();
    }

    private Tensor bytes(Storage storage) {
        return Tensor.contiguous(DType.UINT8, new long[] {storage.sizeBytes()}, storage);
    }

    private Tensor bytes(long size) {
        return bytes(transit.filled(size));
    }

    @Test
    void aThousandMessagesOfSixteenMegabytesStayInsideOneSegment() throws Exception {
        HostStorage storage = transit.filled(SIXTEEN_MB);
        for (int i = 0; i < 1000; i++) {
            storage.bytes(0, 4).putInt(0, i);
            ReceivedTensors received = transit.receive(transit.send(bytes(storage)));
            ByteBuffer arrived = received.tensors().get(0).storage().bytes(0, SIXTEEN_MB);
            assertThat(arrived.getInt(0)).isEqualTo(i);
            assertThat(arrived.get(SIXTEEN_MB - 1)).isEqualTo(Transit.pattern(SIXTEEN_MB - 1, 0));
            received.release();
        }
        storage.release();
        assertThat(transit.pool.totalBytes()).isEqualTo(64 << 20);
        transit.sender.reclaim();
        assertThat(transit.pool.usedBytes()).isZero();
    }

    @Test
    void aStorageInsideASegmentIsSentWithoutACopy() throws Exception {
        Storage storage = transit.pool.allocate(1 << 20);
        Transit.fill(storage, 3);
        long used = transit.pool.usedBytes();
        MessageBuffer record = transit.send(bytes(storage));
        assertThat(transit.pool.usedBytes()).isEqualTo(used);
        storage.release();
        assertThat(transit.pool.usedBytes()).as("the receiver still reads it").isEqualTo(used);
        ReceivedTensors received = transit.receive(record);
        assertThat(received.tensors().get(0).storage().bytes(77, 1).get(0)).isEqualTo(Transit.pattern(77, 3));
        received.release();
        transit.sender.reclaim();
        assertThat(transit.pool.usedBytes()).isZero();
    }

    @Test
    void aSenderKeepsItsStorageAfterTheReceiverIsDone() throws Exception {
        Storage storage = transit.pool.allocate(1 << 20);
        for (int i = 0; i < 3; i++) {
            transit.receive(transit.send(bytes(storage))).release();
        }
        transit.sender.reclaim();
        assertThat(transit.sender.leases()).isZero();
        assertThat(transit.pool.usedBytes()).isEqualTo(1 << 20);
        storage.release();
        assertThat(transit.pool.usedBytes()).isZero();
    }

    @Test
    void leasesAreReturnedInAnyOrder() throws Exception {
        List<ReceivedTensors> received = new ArrayList<>();
        Random random = new Random(Seeds.one(4));
        for (int i = 0; i < 400; i++) {
            Storage storage = transit.host.allocate(300_000);
            Transit.fill(storage, i);
            received.add(transit.receive(transit.send(bytes(storage))));
            storage.release();
            if (received.size() > 20) {
                received.remove(random.nextInt(received.size())).release();
            }
        }
        Collections.shuffle(received, random);
        assertThat(transit.receiver.leasesHeld()).isEqualTo(received.size());
        received.forEach(ReceivedTensors::release);
        assertThat(transit.receiver.leasesHeld()).isZero();
        assertThat(transit.returned.all)
                .doesNotHaveDuplicates()
                .hasSize(400)
                .isNotEqualTo(sorted(transit.returned.all));
        transit.sender.reclaim();
        assertThat(transit.pool.usedBytes()).isZero();
    }

    private static List<Long> sorted(List<Long> ids) {
        return ids.stream().sorted().toList();
    }

    @Test
    void claimsToLeasesThatWereNotMadeAreCountedAndIgnored() throws Exception {
        Tensor tensor = bytes(1 << 20);
        MessageBuffer record = transit.send(tensor);
        long lease = transit.section(record).lease(0);
        transit.returned.claim(3, lease);
        transit.returned.claim(Transit.RECEIVER, lease + 1);
        transit.returned.claim(Transit.RECEIVER, -1);
        transit.sender.reclaim();
        transit.pool.leases().released(3, lease);
        assertThat(transit.sender.wrongClaims()).isEqualTo(3);
        assertThat(transit.sender.leases()).isEqualTo(1);
        transit.returned.claim(Transit.RECEIVER, lease);
        transit.returned.claim(Transit.RECEIVER, lease);
        transit.sender.reclaim();
        assertThat(transit.sender.wrongClaims()).isEqualTo(4);
        assertThat(transit.pool.usedBytes()).isZero();
        tensor.storage().release();
    }

    @Test
    void theLeasesOfADeadReceiverEnd() throws Exception {
        Tensor tensor = bytes(1 << 20);
        for (int i = 0; i < 20; i++) {
            transit.send(tensor);
        }
        Plan toAnother = transit.sender.plan(List.of(tensor), 3, Transit.SAME);
        toAnother.committed();
        transit.sender.receiverGone(Transit.RECEIVER);
        assertThat(transit.sender.leases()).isEqualTo(1);
        assertThat(transit.pool.usedBytes()).isEqualTo(1 << 20);
        transit.sender.receiverGone(3);
        transit.sender.receiverGone(3);
        assertThat(transit.pool.usedBytes()).isZero();
        transit.send(tensor);
        assertThat(transit.sender.leases()).as("it may come back").isEqualTo(1);
        tensor.storage().release();
    }

    @Test
    void aFileHasTheBytesUntilNativeCodeMayHaveWritten() throws Exception {
        Storage storage = transit.pool.allocate(1 << 20);
        Transit.fill(storage, 3);
        Tensor sent = bytes(1 << 20);
        ReceivedTensors received = transit.receive(transit.send(sent));
        sent.storage().release();
        Storage arrived = received.tensors().get(0).storage();
        for (Storage each : List.of(storage, arrived)) {
            FilePart part = each.filePart().orElseThrow();
            ByteBuffer found = ByteBuffer.allocate(1 << 20);
            try (FileChannel channel = FileChannel.open(part.file(), StandardOpenOption.READ)) {
                channel.read(found, part.offset());
            }
            assertThat(found.flip()).isEqualTo(each.bytes(0, 1 << 20));
        }
        assertThat(arrived.address()).isNotZero();
        assertThat(arrived.filePart()).isEmpty();
        received.release();
        storage.release();
        assertThatThrownBy(storage::filePart).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void theLeasesOfADeadReceiverLastAsLongAsAnotherProcessLocksTheirBytes() throws Exception {
        Tensor tensor = bytes(1 << 20);
        transit.send(tensor);
        transit.send(tensor);
        Plan early = transit.sender.plan(List.of(tensor), Transit.RECEIVER, Transit.SAME);
        assertThat(transit.pool.usedBytes()).isEqualTo(3 << 20);
        Path segment = Files.list(transit.segments).findFirst().orElseThrow();
        try (FileChannel channel = FileChannel.open(segment, StandardOpenOption.READ)) {
            FileLock second = channel.lock((2 << 20) - 1, 1, true);
            FileLock third = channel.lock(2 << 20, 1 << 20, true);
            transit.sender.receiverGone(Transit.RECEIVER);
            early.committed();
            assertThat(transit.pool.usedBytes())
                    .as("the first one is not locked")
                    .isEqualTo(2 << 20);
            assertThat(transit.sender.leases()).isEqualTo(2);
            third.release();
            transit.pool.leases().pollAll();
            assertThat(transit.pool.usedBytes()).isEqualTo(1 << 20);
            second.release();
            assertThat(transit.pool.allocate(64 << 20))
                    .as("where all memory is wanted, it is asked for again")
                    .satisfies(Storage::release);
        }
        assertThat(transit.sender.leases()).isZero();
        tensor.storage().release();
    }

    @Test
    void aReceiverThatDiesWhileItsMessageIsWrittenKeepsTheRegionUntilThen() {
        Tensor tensor = bytes(1 << 20);
        Plan committed = transit.sender.plan(List.of(tensor), Transit.RECEIVER, Transit.SAME);
        Plan abandoned = transit.sender.plan(List.of(tensor), Transit.RECEIVER, Transit.SAME);
        transit.sender.receiverGone(Transit.RECEIVER);
        assertThat(transit.sender.leases()).isZero();
        assertThat(transit.pool.usedBytes()).isEqualTo(2 << 20);
        committed.committed();
        abandoned.abandoned();
        assertThat(transit.pool.usedBytes()).isZero();
        tensor.storage().release();
    }

    @Test
    void aLeaseMayBeReturnedBeforeTheSenderKnowsThatItIsOut() throws Exception {
        Tensor tensor = bytes(1 << 20);
        Plan plan = transit.sender.plan(List.of(tensor), Transit.RECEIVER, Transit.SAME);
        transit.receive(transit.write(plan)).release();
        transit.sender.reclaim();
        assertThat(transit.pool.usedBytes()).isEqualTo(1 << 20);
        plan.committed();
        assertThat(transit.pool.usedBytes()).isZero();
        tensor.storage().release();
    }

    @Test
    void theLeasesOfAMessageStandWhenTheArchiveFails() throws Exception {
        List<Tensor> sent = List.of(bytes(1 << 20), bytes(2 << 20));
        Plan plan = transit.sender.plan(sent, Transit.RECEIVER, Transit.SAME);
        MessageBuffer record = transit.write(plan);
        List<Integer> passed = new ArrayList<>();
        plan.appended(
                (file, sequence, id, storage, bytes) -> {
                    bytes.letGo();
                    passed.add(storage);
                    throw new IllegalStateException("planted");
                },
                directory,
                0,
                1);
        assertThatThrownBy(plan::committed).hasMessage("planted");
        assertThat(passed).as("storages that were passed to the archive").containsExactly(0, 1);
        sent.forEach(tensor -> tensor.storage().release());
        assertThat(transit.sender.leases()).as("leases of the receiver").isEqualTo(2);
        transit.receive(record).release();
        transit.sender.reclaim();
        assertThat(transit.sender.leases()).as("leases after the receiver").isZero();
        assertThat(transit.pool.usedBytes()).isZero();
    }

    @Test
    void anAbandonedMessageGivesEverythingBack() {
        Storage own = transit.pool.allocate(1 << 20);
        Tensor copied = bytes(1 << 20);
        transit.sender
                .plan(List.of(bytes(own), copied), Transit.RECEIVER, Transit.SAME)
                .abandoned();
        assertThat(transit.sender.leases()).isZero();
        assertThat(transit.pool.usedBytes()).isEqualTo(1 << 20);
        own.release();
        copied.storage().release();
        assertThat(transit.pool.usedBytes()).isZero();
    }

    @Test
    void aReceiverThatKeepsTooMuchMustGiveSomethingBackFirst() throws Exception {
        Tensor tensor = bytes(5000);
        List<ReceivedTensors> kept = new ArrayList<>();
        for (int i = 0; i < Leases.MAX_OUTSTANDING; i++) {
            kept.add(transit.receive(transit.send(tensor)));
        }
        assertThatThrownBy(() -> transit.send(tensor))
                .isInstanceOfSatisfying(
                        CallException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.BACK_PRESSURE))
                .hasMessageContaining("256");
        transit.sender.plan(List.of(tensor), 3, Transit.SAME).abandoned();
        kept.remove(100).release();
        kept.add(transit.receive(transit.send(tensor)));
        kept.forEach(ReceivedTensors::release);
        tensor.storage().release();
    }

    @Test
    void aMessageThatFindsNoRoomLeavesNothingBehind() {
        Tensor large = bytes(40 << 20);
        assertThatThrownBy(() -> transit.sender.plan(List.of(large, bytes2(large)), Transit.RECEIVER, Transit.SAME))
                .isInstanceOfSatisfying(
                        CallException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.DEVICE_FULL));
        assertThat(transit.pool.usedBytes()).isZero();
        assertThat(transit.sender.leases()).isZero();
        large.storage().release();
        second.release();
    }

    @Test
    void aMessageWaitsForWhatReceiversHoldAndItsErrorNamesThem() throws Exception {
        Tensor large = bytes(40 << 20);
        ReceivedTensors held = transit.receive(transit.send(large));
        assertThatThrownBy(() -> transit.send(large))
                .isInstanceOfSatisfying(
                        CallException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.BACK_PRESSURE))
                .hasMessage(
                        "no room for 41943040 bytes of tensors: 41943040 of 67108864 bytes (tensor.total-bytes) are in use,"
                                + " 0 of them by this worker's own storages, 41943040 by worker 2 with 1 lease");
        assertThatThrownBy(() -> transit.pool.allocate(40 << 20))
                .as("a storage of its own, for which nothing waits")
                .isInstanceOfSatisfying(
                        CallException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.DEVICE_FULL));
        held.release();
        transit.receive(transit.send(large)).release();

        Storage own = transit.pool.allocate(40 << 20);
        assertThatThrownBy(() -> transit.send(large))
                .as("its own storages take what it needs")
                .isInstanceOfSatisfying(
                        CallException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.DEVICE_FULL));
        own.release();
        large.storage().release();
    }

    private HostStorage second;

    private Tensor bytes2(Tensor like) {
        second = transit.host.allocate(like.storage().sizeBytes());
        return bytes(second);
    }

    @Test
    void whatReceiversReleasedIsTakenBackBeforeRoomRunsShort() throws Exception {
        Tensor large = bytes(40 << 20);
        transit.receive(transit.send(large)).release();
        transit.pool.allocate(40 << 20).release();
        transit.receive(transit.send(large)).release();
        Plan toAnother = transit.sender.plan(List.of(large), 3, Transit.SAME);
        toAnother.abandoned();
        large.storage().release();
    }

    /** Memory that is in a processor's caches is written to several times faster than memory that is not. */
    @ParameterizedTest
    @CsvSource({"100000, 4, false", "100000, 4, true", "1048576, 2, false", "1048576, 2, true"})
    void aStreamUsesTheSameMemoryWhereMoreIsFree(int size, int most, boolean isOwn) throws Exception {
        transit.pool.allocate(48 << 20).release(); // as after a burst
        Set<Long> offsets = new TreeSet<>();
        for (int i = 0; i < 100; i++) {
            Storage storage = isOwn ? transit.pool.allocate(size) : transit.host.allocate(size);
            MessageBuffer record = transit.send(bytes(storage));
            offsets.add(transit.section(record).offset(0));
            storage.release();
            transit.receive(record).release();
        }
        assertThat(offsets).as("where 100 storages of a stream were").hasSizeLessThanOrEqualTo(most);
    }

    @Test
    void aStreamDoesNotAskAllReceiversEachTime() throws Exception {
        transit.pool.allocate(48 << 20).release();
        Tensor tensor = bytes(256 << 10);
        int holders = 50;
        for (int i = 0; i < holders; i++) {
            transit.sender.plan(List.of(tensor), 10 + i, Transit.SAME).committed();
        }
        int before = transit.returned.reads();
        int messages = 200;
        for (int i = 0; i < messages; i++) {
            transit.receive(transit.send(tensor)).release();
        }
        assertThat(transit.returned.reads() - before)
                .as("reads for %s messages while %s receivers hold one each", messages, holders)
                .isLessThanOrEqualTo(3 * messages);
        tensor.storage().release();
    }

    @Test
    void discardedRecordsReturnTheirLeases() throws Exception {
        Tensor large = bytes(1 << 20);
        Tensor middle = bytes(9000);
        Tensor small = bytes(100);
        Tensor packed = bytes(9001);
        MessageBuffer record = transit.send(large, middle, small, packed);
        transit.receiver.discard(Transit.checked(record), transit.peer);
        assertThat(transit.returned.all).hasSize(2).doesNotHaveDuplicates();
        transit.sender.reclaim();
        assertThat(transit.pool.usedBytes()).isZero();
        assertThat(transit.sender.wrongClaims()).isZero();
        for (Tensor tensor : List.of(large, middle, small, packed)) {
            tensor.storage().release();
        }
    }

    @Test
    void whatTheReceiverWritesIsGoneWithTheMessage() throws Exception {
        Storage region = transit.pool.allocate(8192);
        Transit.fill(region, 1);
        ReceivedTensors first = transit.receive(transit.send(bytes(region)));
        Storage arrived = first.tensors().get(0).storage();
        UnsafeApi.setMemory(arrived.address(), 8192, (byte) 0x55);
        assertThat(arrived.bytes(5000, 1).get(0)).isEqualTo((byte) 0x55);
        assertThat(region.bytes(5000, 1).get(0)).as("the file").isEqualTo(Transit.pattern(5000, 1));

        ReceivedTensors meanwhile = transit.receive(transit.send(bytes(region)));
        Storage second = meanwhile.tensors().get(0).storage();
        assertThat(second.bytes(5000, 1).get(0)).as("another message").isEqualTo(Transit.pattern(5000, 1));
        assertThat(second.address()).isNotEqualTo(arrived.address());
        meanwhile.release();

        long address = arrived.address();
        first.release();
        Transit.fill(region, 2);
        ReceivedTensors next = transit.receive(transit.send(bytes(region)));
        Storage third = next.tensors().get(0).storage();
        assertThat(third.address()).as("the same place").isEqualTo(address);
        assertThat(third.bytes(5000, 1).get(0)).isEqualTo(Transit.pattern(5000, 2));
        next.release();
        region.release();
    }

    @Test
    void pagesThatStoragesOfOneLeaseShareAreDroppedWithTheLastOfThem() throws Exception {
        Tensor one = bytes(5000);
        Tensor two = bytes(5000);
        ReceivedTensors received = transit.receive(transit.send(one, two));
        Storage first = received.tensors().get(0).storage().retain();
        Storage second = received.tensors().get(1).storage().retain();
        received.release();
        UnsafeApi.setMemory(first.address(), 5000, (byte) 1);
        UnsafeApi.setMemory(second.address(), 5000, (byte) 2);
        first.release();
        assertThat(second.bytes(0, 1).get(0)).isEqualTo((byte) 2);
        assertThat(second.bytes(4999, 1).get(0)).isEqualTo((byte) 2);
        assertThat(transit.returned.count()).isZero();
        second.release();
        assertThat(transit.returned.count()).isEqualTo(1);
        ReceivedTensors next = transit.receive(transit.send(one, two));
        assertThat(next.tensors().get(0).storage().bytes(0, 1).get(0)).isEqualTo(Transit.pattern(0, 0));
        assertThat(next.tensors().get(1).storage().bytes(0, 1).get(0)).isEqualTo(Transit.pattern(0, 0));
        next.release();
        one.storage().release();
        two.storage().release();
    }

    @Test
    void severalThreadsSendAtOnce() throws Exception {
        List<Thread> threads = new ArrayList<>();
        List<Throwable> failures = Collections.synchronizedList(new ArrayList<>());
        for (int i = 0; i < 4; i++) {
            int seed = i;
            Thread thread = new Thread(() -> sendMany(seed), "sender-" + i);
            thread.setUncaughtExceptionHandler((t, e) -> failures.add(e));
            threads.add(thread);
            thread.start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        assertThat(failures).isEmpty();
        transit.sender.reclaim();
        assertThat(transit.sender.leases()).isZero();
        assertThat(transit.sender.wrongClaims()).isZero();
        assertThat(transit.pool.usedBytes()).isZero();
    }

    private void sendMany(int seed) {
        Random random = new Random(seed);
        for (int i = 0; i < 1500; i++) {
            Storage storage = random.nextBoolean()
                    ? transit.host.allocate(1 + random.nextInt(60_000))
                    : transit.pool.allocate(1 + random.nextInt(60_000));
            Transit.fill(storage, seed * 7 + i);
            try {
                ReceivedTensors received = transit.receive(transit.send(bytes(storage)));
                TensorSectionTest.assertSameElements(received.tensors().get(0), bytes(storage));
                received.release();
            } catch (Exception e) {
                throw new AssertionError("seed " + seed + ", message " + i, e);
            }
            storage.release();
        }
    }
}
