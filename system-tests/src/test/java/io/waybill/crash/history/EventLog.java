package io.waybill.crash.history;

import java.io.Closeable;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/**
 * A file of {@link Event}s of one incarnation of one process. What {@link #add} returned for survives the process, whatever ends it.
 *
 * <p>Thread-safe.
 */
public final class EventLog implements Closeable {

    private static final String SUFFIX = ".events";

    private final FileChannel file;
    private final ByteBuffer buffer = ByteBuffer.allocateDirect(Event.BYTES).order(ByteOrder.LITTLE_ENDIAN);

    private EventLog(FileChannel file) {
        this.file = file;
    }

    /** The log of one incarnation of a worker: {@code <name>-<incarnation>.events}. */
    public static EventLog create(Path logs, String worker, int incarnation) throws IOException {
        return new EventLog(FileChannel.open(
                logs.resolve(worker + "-" + incarnation + SUFFIX),
                StandardOpenOption.CREATE_NEW,
                StandardOpenOption.WRITE));
    }

    public synchronized void add(Event event) {
        buffer.clear();
        event.write(buffer);
        buffer.flip();
        try {
            while (buffer.hasRemaining()) {
                file.write(buffer);
            }
        } catch (IOException e) {
            throw new UncheckedIOException("the log can't be written", e);
        }
    }

    /** The ids of calls that no life of a worker has logged an outcome of. */
    public static List<Long> open(Path logs, String worker) throws IOException {
        Set<Long> open = new LinkedHashSet<>();
        for (Path log : list(logs)) {
            if (worker(log).equals(worker)) {
                read(log).stream()
                        .filter(event -> event.kind() == Event.Kind.SENT)
                        .forEach(event -> open.add(event.id()));
            }
        }
        for (Path log : list(logs)) {
            if (worker(log).equals(worker)) {
                read(log).stream()
                        .filter(event -> event.isOutcome() || event.isClaim())
                        .forEach(event -> open.remove(event.id()));
            }
        }
        return List.copyOf(open);
    }

    /** The names of all logs below a directory. */
    static List<Path> list(Path logs) throws IOException {
        try (var files = Files.list(logs)) {
            return files.filter(file -> file.toString().endsWith(SUFFIX))
                    .sorted()
                    .toList();
        }
    }

    static String worker(Path log) {
        String name = log.getFileName().toString();
        return name.substring(0, name.lastIndexOf('-'));
    }

    static int incarnation(Path log) {
        String name = log.getFileName().toString();
        return Integer.parseInt(name.substring(name.lastIndexOf('-') + 1, name.length() - SUFFIX.length()));
    }

    /** All events of a log; bytes at the end that make no whole one are left out: their writer was killed. */
    public static List<Event> read(Path log) throws IOException {
        ByteBuffer bytes = ByteBuffer.wrap(Files.readAllBytes(log)).order(ByteOrder.LITTLE_ENDIAN);
        List<Event> events = new ArrayList<>(bytes.remaining() / Event.BYTES);
        while (bytes.remaining() >= Event.BYTES) {
            events.add(Event.read(bytes));
        }
        return events;
    }

    @Override
    public void close() throws IOException {
        file.close();
    }
}
