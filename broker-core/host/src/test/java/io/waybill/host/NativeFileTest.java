package io.waybill.host;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.host.NativeCalls.Advice;
import io.waybill.host.NativeCalls.Mapping;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.TimeUnit;
import org.agrona.concurrent.UnsafeBuffer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(30)
class NativeFileTest {
    private static final Host HOST = Host.real();
    private static final int MIB = 1 << 20;

    @TempDir
    Path dir;

    @Test
    void reservesSpaceWithoutGrowing() throws IOException {
        try (NativeFile file = HOST.files().openOwnNative(dir.resolve("file"))) {
            file.reserve(0, 4 * MIB);

            assertThat(file.size()).isZero();
            assertThat(allocatedBytes(file)).isGreaterThanOrEqualTo(4 * MIB);
        }
    }

    private static long allocatedBytes(NativeFile file) throws IOException {
        try {
            Process stat = new ProcessBuilder("stat", "-c", "%b", file.path().toString()).start();
            assertThat(stat.waitFor(10, TimeUnit.SECONDS)).isTrue();
            return 512 * Long.parseLong(new String(stat.getInputStream().readAllBytes()).trim());
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    void findsWhatWasWrittenBehindWhatIsReserved() throws IOException {
        try (NativeFile file = HOST.files().openOwnNative(dir.resolve("file"))) {
            file.extend(0, 4 * MIB);
            assertThat(file.dataFrom(0)).isEqualTo(Long.MAX_VALUE);

            long address = file.map(Mapping.SHARED, 0, 4 * MIB);
            UnsafeBuffer mapped = new UnsafeBuffer(address, 4 * MIB);
            mapped.putByte(3 * MIB, (byte) 1); // through a mapping, as journals are written
            long found = file.dataFrom(MIB);
            HOST.calls().unmap(address, 4 * MIB);

            assertThat(found).isBetween((long) MIB, 3L * MIB);
            assertThat(file.dataFrom(3 * MIB)).isEqualTo(3L * MIB);
        }
    }

    @Test
    void growsAndShrinks() throws IOException {
        try (NativeFile file = HOST.files().openOwnNative(dir.resolve("file"))) {
            file.extend(0, MIB);
            assertThat(file.size()).isEqualTo(MIB);
            file.truncate(10);
            assertThat(file.size()).isEqualTo(10);
            file.dataSync();
            file.sync();
        }
    }

    @Test
    void namesTheErrorAndTheFile() throws IOException {
        Path path = dir.resolve("file");
        try (NativeFile file = HOST.files().openOwnNative(path)) {
            assertThatThrownBy(() -> file.reserve(0, 1L << 60))
                    .isInstanceOfSatisfying(
                            NativeCallException.class,
                            e -> assertThat(e.errno()).isIn("ENOSPC", "EFBIG"))
                    .hasMessageContaining("fallocate of 1099511627776 MiB at 0 of " + path);
        }
    }

    @Test
    void mapsPrivatelyWithoutTouchingTheFile() throws IOException {
        Path path = Files.write(dir.resolve("file"), new byte[8192]);
        try (NativeFile file = HOST.files().openNative(path, 8192)) {
            long address = file.map(Mapping.PRIVATE, 4096, 4096);
            UnsafeBuffer buffer = new UnsafeBuffer(address, 4096);
            buffer.putLong(0, 42);

            assertThat(Files.readAllBytes(path)).isEqualTo(new byte[8192]);
            HOST.calls().advise(address, 4096, Advice.DONT_NEED);
            assertThat(buffer.getLong(0)).isZero();
            HOST.calls().unmap(address, 4096);
        }
    }

    @Test
    void mapsSharedAndWritesThrough() throws IOException {
        try (NativeFile file = HOST.files().openOwnNative(dir.resolve("file"))) {
            file.extend(0, 4096);
            long address = file.map(Mapping.SHARED, 0, 4096);
            new UnsafeBuffer(address, 4096).putByte(7, (byte) 9);

            assertThat(Files.readAllBytes(file.path())[7]).isEqualTo((byte) 9);
            HOST.calls().advise(address, 4096, Advice.POPULATE_WRITE);
            HOST.calls().unmap(address, 4096);
        }
    }

    @Test
    void readsAndWritesAtPositions() throws IOException {
        UnsafeBuffer memory = new UnsafeBuffer(ByteBuffer.allocateDirect(16));
        try (NativeFile file = HOST.files().openOwnNative(dir.resolve("file"))) {
            memory.putLong(0, 0x1122334455667788L);
            assertThat(file.writeAt(memory.addressOffset(), 8, 100)).isEqualTo(8);
            assertThat(file.readAt(memory.addressOffset() + 8, 8, 100)).isEqualTo(8);
            assertThat(memory.getLong(8)).isEqualTo(0x1122334455667788L);
            assertThat(file.readAt(memory.addressOffset(), 8, 104)).isEqualTo(4);
        }
    }

    @Test
    void locksAgainstAnotherOpenInTheSameProcess() throws IOException {
        Path path = dir.resolve("lock");
        NativeFile first = HOST.files().openOwnNative(path);
        try (NativeFile second = HOST.files().openOwnNative(path)) {
            assertThat(first.tryLock()).isTrue();
            assertThat(second.tryLock()).isFalse();
            // closing any other open of the file must not drop the lock
            HOST.files().openOwnNative(path).close();
            try (FileChannel channel = FileChannel.open(path, StandardOpenOption.READ)) {
                assertThat(channel.isOpen()).isTrue();
            }
            assertThat(second.tryLock()).isFalse();
            first.close();
            assertThat(second.tryLock()).isTrue();
        }
    }

    @Test
    void createsWithTheModeThatWasAsked() throws IOException {
        // the mode is the variadic argument of openat
        HOST.files().openOwnNative(dir.resolve("file")).close();
        assertThat(FoundFile.at(dir.resolve("file")).modeText()).isEqualTo("0600");
    }

    @Test
    void refusesToBeUsedAfterClosing() throws IOException {
        NativeFile file = HOST.files().openOwnNative(dir.resolve("file"));
        file.close();
        file.close();
        assertThatThrownBy(file::size).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void knowsTheNumbersOfThisPlatform() {
        assertThat(NativeCalls.O_NOFOLLOW).isNotZero();
        assertThat(NativeCalls.O_DIRECTORY).isNotZero();
        assertThat(NativeCalls.O_CLOEXEC).isEqualTo(0x80000);
        assertThat(HOST.calls().processId()).isEqualTo(ProcessHandle.current().pid());
    }
}
