package io.waybill.home.cursor;

import io.waybill.api.WorkerInfo;
import io.waybill.host.SafeFiles;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/**
 * A {@code cursors} file as it was found, for tools. Immutable.
 *
 * @param callableEpoch epoch of the incarnation that took calls last; 0 when none did, or the file is too short
 * @param slots what it says about each peer, damaged slots left out
 */
public record StoredCursors(long callableEpoch, List<StoredCursor> slots) {

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
     * @param problems is given what is damaged
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

    private static StoredCursors read(FileChannel channel, Consumer<String> problems) throws IOException {
        ByteBuffer header = read(channel, 0, CursorLayout.HEADER_BYTES);
        if (header.limit() < CursorLayout.HEADER_BYTES) {
            return new StoredCursors(0, List.of());
        }
        List<StoredCursor> slots = new ArrayList<>();
        for (int i = 0; i < CursorLayout.SLOTS; i++) {
            int peer = header.getInt(CursorLayout.directoryEntry(i));
            ByteBuffer slot = read(channel, CursorLayout.slotOffset(i), CursorLayout.RING);
            if (slot.limit() < CursorLayout.RING || slot.getInt(CursorLayout.PEER_ID) != peer) {
                problems.accept("slot " + i + " is not that of worker " + peer);
            } else if (peer < CursorLayout.FREE || peer > WorkerInfo.MAX_ID) {
                problems.accept("slot " + i + " is of worker " + peer + ", which none can be");
            } else if (peer != CursorLayout.FREE) {
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
