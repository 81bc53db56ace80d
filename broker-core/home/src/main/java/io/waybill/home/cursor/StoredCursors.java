package io.waybill.home.cursor;

import io.waybill.api.WorkerInfo;
import io.waybill.host.SafeFiles;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;

/**
 * Content of a {@code cursors} file, for tools. Immutable.
 *
 * @param callableEpoch epoch of the incarnation that took calls last; 0 when none did, or the file is too short
 * @param slots entries of the peers, without damaged ones
 */
public record StoredCursors(long callableEpoch, List<StoredCursor> slots) {

    /** Counter for a file without one: a sixteenth of all that a worker can assign. */
    private static final long UNKNOWN_COUNTER = 1L << 44;

    private static final int MAX_WORKERS = 4 * (WorkerInfo.MAX_ID + 1);

    public StoredCursors {
        slots = List.copyOf(slots);
    }

    /** Returns the file of a worker. */
    public static Path file(Path workerDirectory) {
        return workerDirectory.resolve(CursorLayout.FILE);
    }

    /**
     * Reads the file by position, without mapping it.
     *
     * @param problems receives descriptions of damage
     */
    public static StoredCursors read(Path workerDirectory, WorkerInfo owner, SafeFiles files, Consumer<String> problems)
            throws IOException {
        try (FileChannel channel = files.openForReading(file(workerDirectory), Long.MAX_VALUE)) {
            String damage = Cursors.damageOf(channel, owner.id());
            if (damage.isEmpty()) {
                return read(channel, problems);
            }
            problems.accept(damage);
            return new StoredCursors(0, List.of());
        }
    }

    /**
     * Returns a counter above those of all message ids that a worker noted as assigned.
     *
     * @return a very high counter when the file has none
     */
    public static long nextCounter(Path workerDirectory, WorkerInfo owner, SafeFiles files) throws IOException {
        try (FileChannel channel = files.openForReading(file(workerDirectory), Long.MAX_VALUE)) {
            ByteBuffer header = read(channel, 0, CursorLayout.HEADER_BYTES);
            boolean reads = header.limit() == CursorLayout.HEADER_BYTES
                    && Cursors.damageOf(channel, owner.id()).isEmpty();
            long counter = reads ? header.getLong(CursorLayout.NEXT_COUNTER_AT) : UNKNOWN_COUNTER;
            return counter < 0 || counter > UNKNOWN_COUNTER ? UNKNOWN_COUNTER : counter;
        } catch (NoSuchFileException e) {
            return UNKNOWN_COUNTER;
        }
    }

    /** Returns the ids of all peers that any worker has a slot for. */
    public static Set<Integer> peersIn(Path workers, SafeFiles files) throws IOException {
        Set<Integer> peers = new HashSet<>();
        for (Path worker : files.listDirectories(workers, MAX_WORKERS)) {
            try (FileChannel channel = files.openForReading(file(worker), Long.MAX_VALUE)) {
                ByteBuffer header = read(channel, 0, CursorLayout.HEADER_BYTES);
                for (int i = 0; header.limit() == CursorLayout.HEADER_BYTES && i < CursorLayout.SLOTS; i++) {
                    peers.add(header.getInt(CursorLayout.directoryEntry(i)));
                }
            } catch (NoSuchFileException e) {
                // it never joined completely, or is just being removed
            }
        }
        return peers;
    }

    private static StoredCursors read(FileChannel channel, Consumer<String> problems) throws IOException {
        ByteBuffer header = read(channel, 0, CursorLayout.HEADER_BYTES);
        if (header.limit() < CursorLayout.HEADER_BYTES) {
            return new StoredCursors(0, List.of());
        }
        List<StoredCursor> slots = new ArrayList<>();
        for (int i = 0; i < CursorLayout.SLOTS; i++) {
            int peer = header.getInt(CursorLayout.directoryEntry(i));
            if (peer == CursorLayout.FREE) {
                continue; // its page need not exist
            }
            ByteBuffer slot = read(channel, CursorLayout.slotOffset(i), CursorLayout.RING);
            if (slot.limit() < CursorLayout.RING || slot.getInt(CursorLayout.PEER_ID) != peer) {
                problems.accept("slot " + i + " is not that of worker " + peer);
            } else if (peer < 0 || peer > WorkerInfo.MAX_ID) {
                problems.accept("slot " + i + " is of worker " + peer + ", which none can be");
            } else {
                slots.add(new StoredCursor(
                        peer,
                        slot.getLong(CursorLayout.REQUESTS_INDEX),
                        slot.getLong(CursorLayout.RESPONSES_INDEX),
                        slot.getLong(CursorLayout.REQUESTS_COMPLETED_BEFORE),
                        slot.getLong(CursorLayout.REQUESTS_CONSUMED),
                        slot.getLong(CursorLayout.REQUEST_BYTES_CONSUMED)));
            }
        }
        return new StoredCursors(header.getLong(CursorLayout.EPOCH_AT), slots);
    }

    private static ByteBuffer read(FileChannel channel, long at, int length) throws IOException {
        ByteBuffer bytes = ByteBuffer.allocate(length).order(ByteOrder.nativeOrder());
        while (bytes.hasRemaining() && channel.read(bytes, at + bytes.position()) > 0) {
            // until it is full or the file was truncated
        }
        return bytes.flip();
    }
}
