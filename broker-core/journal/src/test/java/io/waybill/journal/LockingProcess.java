package io.waybill.journal;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;

/** A JVM of its own that holds the lock of a file until it is closed, as a process does that was stopped. */
public final class LockingProcess implements AutoCloseable {

    /** Who else may have the lock meanwhile. */
    public enum Kind {
        /** No one: as a writer. */
        ALONE(StandardOpenOption.WRITE),
        /** Readers. */
        SHARED(StandardOpenOption.READ);

        private final StandardOpenOption access;

        Kind(StandardOpenOption access) {
            this.access = access;
        }
    }

    private static final String LOCKED = "locked";

    private final Process process;

    private LockingProcess(Process process) {
        this.process = process;
    }

    /** Starts it, and waits until it has the lock. */
    public static LockingProcess start(Path file, Kind kind) throws IOException {
        LockingProcess started = new LockingProcess(new ProcessBuilder(List.of(
                        ProcessHandle.current().info().command().orElseThrow(),
                        "-Xmx32m",
                        "-XX:TieredStopAtLevel=1",
                        "-XX:+UseSerialGC",
                        "-cp",
                        System.getProperty("java.class.path"),
                        LockingProcess.class.getName(),
                        file.toString(),
                        kind.name()))
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start());
        String line = new BufferedReader(
                        new InputStreamReader(started.process.getInputStream(), StandardCharsets.UTF_8))
                .readLine();
        if (!LOCKED.equals(line)) {
            started.close();
            throw new IOException("the process has not locked " + file + ": " + line);
        }
        return started;
    }

    @Override
    public void close() {
        process.destroyForcibly().onExit().join();
    }

    /** Arguments: file, kind. */
    public static void main(String[] arguments) throws IOException {
        Kind kind = Kind.valueOf(arguments[1]);
        try (FileChannel channel = FileChannel.open(Path.of(arguments[0]), kind.access);
                FileLock lock = channel.lock(0, Long.MAX_VALUE, kind == Kind.SHARED)) {
            System.out.println(lock.isValid() ? LOCKED : "invalid");
            while (System.in.read() >= 0) {
                // until it is ended
            }
        }
    }
}
