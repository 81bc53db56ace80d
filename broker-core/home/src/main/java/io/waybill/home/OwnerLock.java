package io.waybill.home;

import io.waybill.host.NativeFile;
import io.waybill.host.SafeFiles;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Optional;

/**
 * Lock that reserves a worker's directory for one process: an flock on {@code lock/owner}, which no other process may
 * open. The kernel releases it when the process ends for any reason. The file contains the epoch, in decimal digits.
 *
 * <p><b>Ownership.</b> Held from {@link #take} to {@link #close}. <b>Threads.</b> Thread-safe.
 */
final class OwnerLock implements AutoCloseable {
    private static final int MAX_BYTES = 32;

    private final NativeFile file;
    private final SafeFiles files;

    private OwnerLock(NativeFile file, SafeFiles files) {
        this.file = file;
        this.files = files;
    }

    /** Takes the lock of a worker's directory; empty when a process holds it. */
    static Optional<OwnerLock> take(Path workerDirectory, SafeFiles files) throws IOException {
        Path directory = files.createPrivateDirectory(workerDirectory.resolve("lock"));
        NativeFile file = files.openOwnNative(directory.resolve("owner"));
        boolean taken = false;
        try {
            taken = file.tryLock();
            return taken ? Optional.of(new OwnerLock(file, files)) : Optional.empty();
        } finally {
            if (!taken) {
                file.close();
            }
        }
    }

    /** Returns the last epoch written; 0 when there is none that can be parsed. */
    long epoch() throws IOException {
        ByteBuffer bytes = ByteBuffer.allocate(MAX_BYTES);
        try (FileChannel channel = files.channelOf(file)) {
            channel.read(bytes);
        }
        String text = new String(bytes.array(), 0, bytes.position(), StandardCharsets.US_ASCII).trim();
        try {
            return text.length() > 18 ? 0 : Math.max(0, Long.parseLong(text));
        } catch (NumberFormatException e) {
            return 0; // cut short by a power failure: worker.json has it, too
        }
    }

    void writeEpoch(long epoch) throws IOException {
        // padded, so that a shorter number overwrites all digits of a longer one
        byte[] text = String.format(Locale.ROOT, "%-20d%n", epoch).getBytes(StandardCharsets.US_ASCII);
        try (FileChannel channel = files.channelOf(file)) {
            channel.write(ByteBuffer.wrap(text), 0);
        }
    }

    @Override
    public void close() {
        file.close();
    }
}
