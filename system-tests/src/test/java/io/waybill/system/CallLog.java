package io.waybill.system;

import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/**
 * What happened to a worker's calls, line by line in a file that survives the worker: {@code S <id>} for a call that was acknowledged,
 * {@code O <id> <outcome>}, {@code R <code>} for one that was refused, {@code H <id> <epoch>} for a request that a handler began,
 * {@code A <id> <epoch>} for one that may have been begun before, {@code X <id>} for one
 * that was begun although its deadline was over, {@code C <id> <outcome>} for a call of an earlier incarnation that was claimed.
 *
 * <p>Thread-safe.
 */
final class CallLog implements Closeable {

    private final FileChannel file;

    CallLog(Path path) throws IOException {
        file = FileChannel.open(path, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
    }

    void sent(long id) {
        write("S " + Long.toHexString(id) + "\n");
    }

    void outcome(long id, String outcome) {
        write("O " + Long.toHexString(id) + " " + outcome + "\n");
    }

    void refused(String code) {
        write("R " + code + "\n");
    }

    void handled(long id, long epoch) {
        write("H " + Long.toHexString(id) + " " + epoch + "\n");
    }

    void handledAgain(long id, long epoch) {
        write("A " + Long.toHexString(id) + " " + epoch + "\n");
    }

    void expired(long id) {
        write("X " + Long.toHexString(id) + "\n");
    }

    void claimed(long id, String outcome) {
        write("C " + Long.toHexString(id) + " " + outcome + "\n");
    }

    private synchronized void write(String line) {
        try {
            ByteBuffer bytes = ByteBuffer.wrap(line.getBytes(StandardCharsets.US_ASCII));
            while (bytes.hasRemaining()) {
                file.write(bytes);
            }
        } catch (IOException e) {
            throw new IllegalStateException("the log can't be written", e);
        }
    }

    @Override
    public void close() throws IOException {
        file.close();
    }
}
