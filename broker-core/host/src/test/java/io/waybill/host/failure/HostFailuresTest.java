package io.waybill.host.failure;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.waybill.host.NativeFailures;
import java.io.FileNotFoundException;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import net.openhft.chronicle.bytes.Bytes;
import net.openhft.chronicle.core.io.IORuntimeException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Which exceptions are of a failed system call of this process, and which of a file's content or path. */
@Timeout(60)
class HostFailuresTest {

    private static final Path FULL = Path.of("/dev/full");

    @TempDir
    private Path directory;

    @Test
    void namesWhatTheHostRefused() {
        assertThat(HostFailures.of(catchThrowable(this::writeToAFullDisk)))
                .isEqualTo("ENOSPC (No space left on device)");
        assertThat(HostFailures.of(catchThrowable(this::writeToAFullDiskByChannel)))
                .isEqualTo("ENOSPC (No space left on device)");
        assertThat(HostFailures.of(NativeFailures.of(24, "open of /a"))).isEqualTo("EMFILE (Too many open files)");
        assertThat(HostFailures.of(new FileSystemException("/a", null, "Too many open files")))
                .startsWith("EMFILE");
        assertThat(HostFailures.of(new FileNotFoundException("/a (Too many open files)")))
                .startsWith("EMFILE");
        assertThat(HostFailures.of(new IllegalStateException(
                        "Failed to acquire", new IOException("Map failed", new OutOfMemoryError("Map failed")))))
                .isEqualTo("ENOMEM (Cannot allocate memory)");
        assertThat(HostFailures.of(new OutOfMemoryError("unable to create native thread")))
                .startsWith("EAGAIN");
    }

    /** What Chronicle's methods are named is of no use to an operator. */
    @Test
    void leavesOutTheWordsOfTheQueuesLibrary() {
        IORuntimeException failed = new IORuntimeException(
                "Failed to acquireByteStore for Position[1]",
                new IOException("Map failed", new OutOfMemoryError("Map failed")));
        assertThat(HostFailures.describe(failed)).isEqualTo("ENOMEM (Cannot allocate memory): Map failed");
        assertThat(HostFailures.text(failed)).isEqualTo("Map failed");
        Throwable thrownInside =
                catchThrowable(() -> Bytes.wrapForRead(new byte[1]).readLong(-9));
        assertThat(HostFailures.text(thrownInside)).startsWith("Chronicle Queue failed: ");
        assertThat(HostFailures.text(new IllegalStateException("a.cq4 ends too early", failed)))
                .isEqualTo("a.cq4 ends too early");
        assertThat(HostFailures.text(new IllegalStateException())).isEqualTo("java.lang.IllegalStateException");
    }

    private void writeToAFullDisk() throws IOException {
        try (FileOutputStream full = new FileOutputStream(FULL.toFile())) {
            full.write(1);
        }
    }

    private void writeToAFullDiskByChannel() throws IOException {
        try (FileChannel full = FileChannel.open(FULL, StandardOpenOption.WRITE)) {
            full.write(ByteBuffer.allocate(1));
        }
    }

    @Test
    void doesNotTakeAFileThatIsWrongForIt() throws IOException {
        Path file = Files.writeString(directory.resolve("No space left on device"), "text");
        assertThat(catchThrowable(() -> Files.list(file.resolve("below"))))
                .satisfies(e -> assertThat(HostFailures.is(e)).isFalse());
        assertThat(catchThrowable(
                        () -> new RandomAccessFile(directory.resolve("none").toFile(), "r")))
                .satisfies(e -> assertThat(HostFailures.is(e)).isFalse());
        assertThat(HostFailures.is(NativeFailures.of(40, "open of /a"))).isFalse(); // ELOOP
        assertThat(HostFailures.is(new IOException(file + ": expected cursors, found something else")))
                .isFalse();
        assertThat(HostFailures.is(new IllegalStateException("cut"))).isFalse();
    }

    @Test
    void describesWithTheErrorOnce() {
        assertThat(HostFailures.describe(NativeFailures.of(28, "fallocate of /a")))
                .isEqualTo("ENOSPC (No space left on device): fallocate of /a");
        assertThat(HostFailures.describe(new IOException("Map failed", new OutOfMemoryError("Map failed"))))
                .isEqualTo("ENOMEM (Cannot allocate memory): Map failed");
        assertThat(HostFailures.describe(new IOException("cut"))).isEqualTo("cut");
    }
}
