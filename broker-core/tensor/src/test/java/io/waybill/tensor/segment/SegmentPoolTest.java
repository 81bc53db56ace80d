package io.waybill.tensor.segment;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.tensor.Device;
import io.waybill.api.tensor.Storage;
import io.waybill.tensor.HostStorage;
import io.waybill.tensor.NoLeaks;
import io.waybill.tensor.Plan;
import io.waybill.tensor.Transit;
import io.waybill.testing.core.Seeds;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

@Timeout(60)
class SegmentPoolTest {

    private static final long MIB = 1 << 20;

    @TempDir
    Path directory;

    @RegisterExtension
    final NoLeaks leaks = new NoLeaks();

    private Transit transit;
    private SegmentPool pool;

    static LongStream seeds() {
        return Seeds.each(11, 12, 13);
    }

    @BeforeEach
    void open() {
        transit = new Transit(directory, leaks, new TensorConfig(4 * MIB, 16 * MIB, 4096, 65536));
        pool = transit.pool;
    }

    @AfterEach
    void close() {
        transit.close();
    }

    @Test
    void makesNoFileBeforeThereIsNeed() throws IOException {
        assertThat(segmentFiles()).isEmpty();
        assertThat(pool.totalBytes()).isZero();
    }

    @Test
    void reservesTheDiskSpaceOfAWholeSegment() throws IOException {
        Storage storage = pool.allocate(100);
        Path file = segmentFiles().get(0);
        assertThat(file).hasFileName("1000.seg").hasSize(4 * MIB);
        assertThat(allocatedBlocks(file) * 512).isGreaterThanOrEqualTo(4 * MIB);
        assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(file)))
                .isEqualTo("rw-------");
        storage.release();
    }

    @Test
    void givesWritableAlignedMemoryInTheFile() throws IOException {
        Storage storage = pool.allocate(10_000);
        assertThat(storage.sizeBytes()).isEqualTo(10_000);
        assertThat(storage.address() % 4096).isZero();
        storage.bytes(9_996, 4).putInt(0, 0x12345678);
        byte[] file = Files.readAllBytes(segmentFiles().get(0));
        assertThat(ByteBuffer.wrap(file).order(java.nio.ByteOrder.nativeOrder()).getInt(9_996))
                .isEqualTo(0x12345678);
        storage.release();
    }

    @Test
    void refusesPartsOutsideAStorage() {
        Storage storage = pool.allocate(5000);
        assertThat(storage.bytes(5000, 0).capacity()).isZero();
        assertThatThrownBy(() -> storage.bytes(4999, 2)).isInstanceOf(IndexOutOfBoundsException.class);
        assertThatThrownBy(() -> storage.bytes(-1, 1)).isInstanceOf(IndexOutOfBoundsException.class);
        assertThatThrownBy(() -> storage.bytes(0, -1)).isInstanceOf(IndexOutOfBoundsException.class);
        assertThatThrownBy(() -> storage.bytes(Long.MAX_VALUE, 1)).isInstanceOf(IndexOutOfBoundsException.class);
        storage.release();
    }

    @Test
    void throwsOnUseAfterRelease() {
        Storage storage = pool.allocate(100);
        ByteBuffer kept = storage.bytes(0, 100);
        storage.retain().release();
        storage.release();
        assertThatThrownBy(storage::address).isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(() -> storage.bytes(0, 1)).isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(storage::retain).isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(storage::release).isInstanceOf(IllegalStateException.class);
        kept.put(0, (byte) 1); // wrong, and harmless to the process
    }

    @Test
    void handsOutWhatWasGivenBackLast() {
        Storage first = pool.allocate(MIB);
        Storage second = pool.allocate(MIB);
        Storage third = pool.allocate(MIB);
        long secondAddress = second.address();
        second.release();
        Storage again = pool.allocate(MIB);
        assertThat(again.address()).isEqualTo(secondAddress);
        first.release();
        third.release();
        again.release();
        assertThat(pool.usedBytes()).isZero();
    }

    @Test
    void takesTheSmallestHoleThatFits() {
        List<Storage> all = new ArrayList<>();
        for (int pages : new int[] {8, 1, 3, 1, 5, 1}) {
            all.add(pool.allocate(pages * 4096L));
        }
        long threePages = all.get(2).address();
        all.get(0).release();
        all.get(2).release();
        all.get(4).release();
        Storage fitting = pool.allocate(2 * 4096L);
        assertThat(fitting.address()).isEqualTo(threePages);
        fitting.release();
        for (int i : new int[] {1, 3, 5}) {
            all.get(i).release();
        }
    }

    @Test
    void joinsNeighboursThatAreFree() {
        List<Storage> all = new ArrayList<>();
        for (int i = 0; i < 16; i++) {
            all.add(pool.allocate(MIB / 4));
        }
        for (int i : new int[] {3, 1, 0, 2, 15, 12, 14, 13, 4, 5, 6, 7, 11, 10, 9, 8}) {
            all.get(i).release();
        }
        Storage whole = pool.allocate(4 * MIB);
        assertThat(pool.segmentCount()).isEqualTo(1);
        whole.release();
    }

    @Test
    void givesALargeStorageASegmentOfItsOwn() throws IOException {
        Storage large = pool.allocate(9 * MIB + 1);
        assertThat(segmentFiles().get(0)).hasSize(9 * MIB + 4096);
        large.release();
    }

    @Test
    void makesRoomByRemovingUnusedSegments() throws IOException {
        List<Storage> small = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            small.add(pool.allocate(4 * MIB));
        }
        for (int i = 0; i < 3; i++) {
            small.get(i).release();
        }
        Storage large = pool.allocate(10 * MIB);
        assertThat(pool.totalBytes()).isEqualTo(14 * MIB);
        assertThat(segmentFiles()).hasSize(2);
        large.release();
        small.get(3).release();
    }

    @Test
    void saysWhoUsesTheRoomWhenThereIsNone() {
        Storage max = pool.allocate(13 * MIB);
        assertThatThrownBy(() -> pool.allocate(4 * MIB))
                .isInstanceOfSatisfying(
                        CallException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.DEVICE_FULL))
                .hasMessageContaining("no room for " + 4 * MIB)
                .hasMessageContaining(13 * MIB + " of " + 16 * MIB);
        assertThatThrownBy(() -> pool.allocate(Long.MAX_VALUE)).isInstanceOf(CallException.class);
        pool.allocate(3 * MIB).release();
        max.release();
    }

    @Test
    void saysSoWhenTheDiskHasNoRoom() throws IOException {
        TensorConfig boundless = new TensorConfig(4 * MIB, 1L << 50, 4096, 65536);
        Path other = directory.resolve("other");
        try (SegmentPool second = new SegmentPool(
                other, boundless, transit.files, leaks.memory, 1, (r, s) -> {}, RegionHolder.NONE, transit.releases)) {
            assertThatThrownBy(() -> second.allocate(1L << 49))
                    .isInstanceOfSatisfying(
                            CallException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.DEVICE_FULL))
                    .hasMessageContaining("bytes left");
            try (Stream<Path> files = Files.list(other)) {
                assertThat(files).isEmpty();
            }
            second.allocate(10).release();
        }
    }

    /** Holds one storage, until others need its memory. */
    private static final class OneStorage implements RegionHolder {
        private Storage held;

        @Override
        public void requireRoom() {}

        @Override
        public boolean giveWay() {
            if (held == null) {
                return false;
            }
            held.release();
            held = null;
            return true;
        }
    }

    @Test
    void asksOthersToGiveWayWhenTheDiskHasNoRoom() throws IOException {
        TensorConfig boundless = new TensorConfig(4 * MIB, 1L << 50, 4096, 65536);
        Path other = directory.resolve("other");
        OneStorage holder = new OneStorage();
        try (SegmentPool second = new SegmentPool(
                other, boundless, transit.files, leaks.memory, 1, (r, s) -> {}, holder, transit.releases)) {
            Storage own = second.allocate(3 * MIB);
            holder.held = second.allocate(MIB);
            Files.delete(other.resolve("1.seg"));
            Files.delete(other); // so that no segment more can be made

            second.allocate(MIB).release();
            assertThat(holder.held).isNull();
            own.release();
            assertThatThrownBy(() -> second.allocate(5 * MIB))
                    .isInstanceOfSatisfying(
                            CallException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.DEVICE_FULL));
        }
    }

    @Test
    void removesItsFilesWhenItCloses() throws IOException {
        Path other = directory.resolve("other");
        SegmentPool second = new SegmentPool(
                other,
                TensorConfig.DEFAULTS,
                transit.files,
                leaks.memory,
                1,
                (r, s) -> {},
                RegionHolder.NONE,
                transit.releases);
        Storage storage = second.allocate(100);
        ByteBuffer kept = storage.bytes(0, 100);
        second.close();
        try (Stream<Path> files = Files.list(other)) {
            assertThat(files).isEmpty();
        }
        assertThatThrownBy(() -> second.allocate(1)).isInstanceOf(CallException.class);
        assertThatThrownBy(second::close).isInstanceOf(IllegalStateException.class);
        storage.release();
        kept.put(0, (byte) 1); // wrong, and harmless to the process
    }

    @Test
    void removesWhatAnEarlierProcessLeft() throws IOException {
        Storage own = pool.allocate(100);
        Files.write(transit.segments.resolve("17.seg"), new byte[10]);
        Files.write(transit.segments.resolve("notes.txt"), new byte[10]);
        assertThat(pool.removeLeftovers()).isEqualTo(1);
        assertThat(transit.segments.resolve("17.seg")).doesNotExist();
        assertThat(transit.segments.resolve("notes.txt")).exists();
        assertThat(segmentFiles()).hasSize(1);
        own.release();
    }

    @ParameterizedTest
    @MethodSource("seeds")
    void neverHandsOutThePagesOfAnother(long seed) {
        Random random = new Random(seed);
        List<Storage> live = new ArrayList<>();
        for (int step = 0; step < 4000; step++) {
            if (live.size() > 40 || !live.isEmpty() && random.nextInt(5) < 2) {
                checkAndRelease(live.remove(random.nextInt(live.size())));
            } else {
                try {
                    Storage storage = pool.allocate(1 + random.nextInt(random.nextBoolean() ? 20_000 : 1_000_000));
                    stamp(storage);
                    live.add(storage);
                } catch (CallException full) {
                    assertThat(full.code()).isEqualTo(ErrorCode.DEVICE_FULL);
                }
            }
        }
        live.forEach(SegmentPoolTest::checkAndRelease);
        assertThat(pool.usedBytes()).isZero();
        assertThat(pool.totalBytes()).isLessThanOrEqualTo(16 * MIB);
    }

    @Test
    void servesSeveralThreads() throws InterruptedException {
        AtomicReference<Throwable> failure = new AtomicReference<>();
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            int seed = i;
            Thread thread = new Thread(() -> allocateAndRelease(new Random(seed)), "allocator-" + i);
            thread.setUncaughtExceptionHandler((t, e) -> failure.set(e));
            threads.add(thread);
            thread.start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        assertThat(failure.get()).isNull();
        assertThat(pool.usedBytes()).isZero();
    }

    private void allocateAndRelease(Random random) {
        for (int i = 0; i < 3000; i++) {
            Storage one = pool.allocate(1 + random.nextInt(200_000));
            stamp(one);
            Storage two = pool.allocate(1 + random.nextInt(200_000));
            stamp(two);
            checkAndRelease(one);
            checkAndRelease(two);
        }
    }

    private static void stamp(Storage storage) {
        ByteBuffer bytes = storage.bytes(0, (int) storage.sizeBytes());
        byte mark = (byte) System.identityHashCode(storage);
        bytes.put(0, mark);
        bytes.put(bytes.capacity() - 1, mark);
    }

    private static void checkAndRelease(Storage storage) {
        ByteBuffer bytes = storage.bytes(0, (int) storage.sizeBytes());
        byte mark = (byte) System.identityHashCode(storage);
        assertThat(bytes.get(0)).isEqualTo(mark);
        assertThat(bytes.get(bytes.capacity() - 1)).isEqualTo(mark);
        storage.release();
    }

    private List<Path> segmentFiles() throws IOException {
        try (Stream<Path> files = Files.list(transit.segments)) {
            return files.filter(f -> f.toString().endsWith(".seg")).sorted().toList();
        }
    }

    private static long allocatedBlocks(Path file) throws IOException {
        try {
            Process stat = new ProcessBuilder("stat", "-c", "%b", file.toString()).start();
            String text = new String(stat.getInputStream().readAllBytes()).trim();
            stat.waitFor();
            return Long.parseLong(text);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException(e);
        }
    }

    /** Closes the pool, while its bytes are being copied into a segment. */
    private record ClosingStorage(HostStorage bytes, Transit closed, AtomicReference<Boolean> wasMapped)
            implements Storage {

        @Override
        public Device device() {
            return Device.CPU;
        }

        @Override
        public long sizeBytes() {
            return bytes.sizeBytes();
        }

        @Override
        public long address() {
            closed.close();
            wasMapped.set(isMapped(closed.segments));
            assertThat(wasMapped)
                    .as("a segment is mapped into which bytes are copied")
                    .hasValue(true);
            return bytes.address();
        }

        @Override
        public ByteBuffer bytes(long offset, int length) {
            return bytes.bytes(offset, length);
        }

        @Override
        public Storage retain() {
            bytes.retain();
            return this;
        }

        @Override
        public void release() {
            bytes.release();
        }
    }

    private Transit another() {
        try {
            return new Transit(Files.createDirectory(directory.resolve("other")), leaks, Transit.oneSegment());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static boolean isMapped(Path segments) {
        try (Stream<String> maps = Files.lines(Path.of("/proc/self/maps"))) {
            return maps.anyMatch(line -> line.contains(segments.toString()));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Test
    void unmapsWhatAMessageIsCopiedIntoWhenThatHasEnded() {
        Transit other = another();
        AtomicReference<Boolean> wasMapped = new AtomicReference<>();
        HostStorage bytes = other.filled(MIB);
        Storage storage = new ClosingStorage(bytes, other, wasMapped);

        Plan plan = other.sender.plan(List.of(Transit.floats(storage, 0, MIB / 4)), Transit.RECEIVER, Transit.SAME);
        assertThat(wasMapped).hasValue(true);
        plan.committed();
        assertThat(isMapped(other.segments)).as("nobody reads it any more").isFalse();
        bytes.release();
    }

    @Test
    void endsTheLeasesOfReceiversWhenItCloses() {
        Transit other = another();
        HostStorage bytes = other.filled(MIB);
        other.send(Transit.floats(bytes, 0, MIB / 4));
        bytes.release();
        assertThat(isMapped(other.segments)).isTrue();
        other.close();
        assertThat(isMapped(other.segments)).isFalse();
    }

    @Test
    void keepsWhatIsInUseWhenItClosesAndGivesOutNoMore() {
        Transit other = another();
        Storage storage = other.pool.allocate(MIB);
        long address = storage.address();
        other.close();
        assertThat(isMapped(other.segments)).as("a storage is in use").isTrue();
        assertThat(storage.address()).isEqualTo(address);
        assertThat(storage.bytes(0, 8).put(0, (byte) 1).get(0)).isEqualTo((byte) 1);
        assertThatThrownBy(() -> other.pool.allocate(1))
                .isInstanceOfSatisfying(
                        CallException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.CLOSED));
        storage.release();
        assertThatThrownBy(storage::address).isInstanceOf(IllegalStateException.class);
    }
}
