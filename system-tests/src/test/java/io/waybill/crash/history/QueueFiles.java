package io.waybill.crash.history;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.function.Consumer;

/**
 * Reads the documents of a queue, file by file in the order of their names. Stateless: one instance per queue, one thread.
 *
 * <p>A document is a word of four bytes, little-endian, and its content: the length in the low 30 bits, {@code 0x40000000} for the queue's
 * own documents, {@code 0x80000000} for one that is not finished. The next one starts at a multiple of four. A file ends where the word is
 * 0 or its document is not finished.
 */
final class QueueFiles {

    private static final int META = 0x40000000;
    private static final int UNFINISHED = 0x80000000;
    private static final int LENGTH = 0x3fffffff;
    private static final int MOST_BYTES = 8 << 20;
    private static final int CHUNK = 9 << 20;

    private final Path directory;
    private final Consumer<String> damage;
    private final ByteBuffer chunk = ByteBuffer.allocate(CHUNK).order(ByteOrder.LITTLE_ENDIAN);
    private long chunkAt;

    QueueFiles(Path directory, Consumer<String> damage) {
        this.directory = directory;
        this.damage = damage;
    }

    void forEach(Consumer<StoredMessage> sink) throws IOException {
        if (!Files.isDirectory(directory)) {
            return;
        }
        List<Path> files;
        try (var listed = Files.list(directory)) {
            files = listed.filter(file -> file.toString().endsWith(".cq4"))
                    .sorted()
                    .toList();
        }
        for (Path file : files) {
            try (FileChannel channel = FileChannel.open(file)) {
                read(file, channel, sink);
            }
        }
    }

    private void read(Path file, FileChannel channel, Consumer<StoredMessage> sink) throws IOException {
        chunk.clear().limit(0);
        chunkAt = 0;
        long at = 0;
        while (have(channel, at, Integer.BYTES)) {
            int word = chunk.getInt((int) (at - chunkAt));
            if (word == 0 || (word & UNFINISHED) != 0) {
                return;
            }
            int length = word & LENGTH;
            if ((word & META) == 0) {
                if (length > MOST_BYTES || !have(channel, at + Integer.BYTES, length)) {
                    damage.accept(file + ": a document of " + length + " bytes at " + at + " reaches beyond the file");
                    return;
                }
                take(file, at, length, sink);
            }
            at = at + Integer.BYTES + length + 3 & ~3L;
        }
    }

    private void take(Path file, long at, int length, Consumer<StoredMessage> sink) {
        ByteBuffer document =
                chunk.slice((int) (at + Integer.BYTES - chunkAt), length).order(ByteOrder.LITTLE_ENDIAN);
        StoredMessage message;
        try {
            message = StoredMessage.parse(document);
        } catch (IllegalArgumentException e) {
            damage.accept(file + ": the document at " + at + " " + e.getMessage());
            return;
        }
        sink.accept(message);
    }

    /** Whether so many bytes are there; they lie in the chunk then. */
    private boolean have(FileChannel channel, long at, int bytes) throws IOException {
        if (at >= chunkAt && at + bytes <= chunkAt + chunk.limit()) {
            return true;
        }
        chunk.clear();
        chunkAt = at;
        while (chunk.hasRemaining()) {
            if (channel.read(chunk, at + chunk.position()) <= 0) {
                break;
            }
        }
        chunk.flip();
        return chunk.limit() >= bytes;
    }
}
