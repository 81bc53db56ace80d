package io.waybill.journal;

import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.host.Clock;
import io.waybill.host.Host;
import io.waybill.journal.append.Journal;
import io.waybill.journal.append.JournalOpener;
import io.waybill.wire.MessageBuffer;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;

/** A real queue with records of a kind that shows when one is taken for another. */
public final class WrittenQueue implements AutoCloseable {

    public static final Host HOST = Host.real();
    public static final int WORKER = 3;
    public static final int PEER = 4;

    private final Journal journal;
    private final Clock clock;
    private final MessageBuffer buffer = new MessageBuffer();

    private WrittenQueue(Journal journal, Clock clock) {
        this.journal = journal;
        this.clock = clock;
    }

    public static JournalSettings settings() {
        return new JournalSettings(Roll.DAILY, 1 << 20, 64 << 10, 1 << 20);
    }

    /** Opens the queue of a worker's directory for writing, and makes what is missing. */
    public static WrittenQueue open(Path workerDirectory, JournalQueue queue) {
        return open(queue.in(workerDirectory), settings());
    }

    public static WrittenQueue open(Path directory, JournalSettings settings) {
        return open(directory, settings, HOST.clock());
    }

    private static WrittenQueue open(Path directory, JournalSettings settings, Clock clock) {
        try {
            Files.createDirectories(
                    directory, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
            return new WrittenQueue(
                    JournalOpener.open(directory, settings, clock, UnreservedDisk.by(WrittenQueue::reserve)), clock);
        } catch (IOException | JournalFullException e) {
            throw new AssertionError(e);
        }
    }

    /** A queue whose clock stands. */
    public static WrittenQueue openAt(Path directory, JournalSettings settings, long wallNs) throws IOException {
        return open(directory, settings, clockAt(wallNs));
    }

    /** A clock that stands. */
    public static Clock clockAt(long wallNs) {
        return new Clock() {
            @Override
            public long monotonicNs() {
                return 0;
            }

            @Override
            public long bootNs() {
                return 0;
            }

            @Override
            public long wallNs() {
                return wallNs;
            }
        };
    }

    public static void reserve(Path file, long offset, long length) throws IOException {
        if (!Files.exists(file)) {
            Files.createFile(
                    file,
                    PosixFilePermissions.asFileAttribute(Set.copyOf(PosixFilePermissions.fromString("rw-------"))));
        }
    }

    /** The payload that {@link #append} gives to the message of this id. */
    public static byte[] payloadOf(long id) {
        byte[] payload = new byte[8 + (int) (Long.remainderUnsigned(id * 0x9e3779b97f4a7c15L, 60))];
        for (int i = 0; i < payload.length; i++) {
            payload[i] = (byte) (id * 31 + i);
        }
        return payload;
    }

    public Journal journal() {
        return journal;
    }

    public void append(MessageType type, long id, int from, int to) {
        byte[] payload = payloadOf(id);
        append(buffer.begin(type, id, from, to, payload.length, 0)
                .sentNs(HOST.clock().wallNs())
                .payload(payload, 0, payload.length));
    }

    /** A message of the kind that belongs into the queue. */
    public void append(JournalQueue queue, long id) {
        append(queue == JournalQueue.REQUESTS ? MessageType.NAMED_CALL : MessageType.NAMED_RET, id, WORKER, PEER);
    }

    public void append(MessageBuffer record) {
        try {
            journal.append(record, clock.wallNs());
        } catch (JournalFullException e) {
            throw new AssertionError(e);
        }
    }

    /** Requests with the counters from {@code first} to before {@code end}. */
    public WrittenQueue requests(long first, long end) {
        for (long counter = first; counter < end; counter++) {
            append(MessageType.NAMED_CALL, MessageId.of(WORKER, counter), WORKER, PEER);
        }
        return this;
    }

    /** Responses to requests of several peers, each in its order, mixed. */
    public WrittenQueue responses(long first, long end) {
        for (long counter = first; counter < end; counter++) {
            append(MessageType.NAMED_RET, responseId(counter), WORKER, PEER + (int) (counter % 5));
        }
        return this;
    }

    public static long responseId(long counter) {
        return MessageId.of(PEER + (int) (counter % 5), counter * 7919 % 1_000_003);
    }

    /** The names of a queue's files, oldest first. */
    public static List<String> rollFiles(Path directory) {
        try (Stream<Path> entries = Files.list(directory)) {
            return entries.map(path -> path.getFileName().toString())
                    .filter(name -> name.endsWith(Roll.FILE_SUFFIX))
                    .sorted()
                    .toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public void close() {
        journal.close();
    }
}
