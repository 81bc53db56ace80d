package io.waybill.replay.slice;

import io.waybill.replay.slice.SliceLayout.Part;
import java.io.BufferedOutputStream;
import java.io.ByteArrayOutputStream;
import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.WritableByteChannel;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.LocalDateTime;
import java.util.EnumMap;
import java.util.Map;
import java.util.Set;
import java.util.zip.CRC32;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;

/**
 * Writes the file of a slice under a temporary name, and renames it when complete. Only its owner may read it. One
 * thread.
 *
 * <p><b>Memory.</b> One chunk of calls for each part.
 */
final class SliceOutput implements Closeable {

    /** Fixed time of all entries, so that the same calls give the same bytes. */
    private static final LocalDateTime TIME = LocalDateTime.of(1980, 2, 1, 0, 0);

    private final Path path;
    private final Path unfinished;
    private final ZipOutputStream zip;
    private final Map<Part, ByteArrayOutputStream> chunks = new EnumMap<>(Part.class);
    private final Map<Part, Integer> written = new EnumMap<>(Part.class);
    private boolean isDone;

    private SliceOutput(Path path, Path unfinished, ZipOutputStream zip) {
        this.path = path;
        this.unfinished = unfinished;
        this.zip = zip;
        for (Part part : Part.values()) {
            chunks.put(part, new ByteArrayOutputStream(2 * SliceLayout.CHUNK_BYTES));
            written.put(part, 0);
        }
        zip.setMethod(ZipOutputStream.STORED);
    }

    /**
     * Creates a slice.
     *
     * @throws FileAlreadyExistsException if the file exists
     */
    static SliceOutput to(Path path) throws IOException {
        if (Files.exists(path, LinkOption.NOFOLLOW_LINKS)) {
            throw new FileAlreadyExistsException(path.toString());
        }
        Path unfinished = path.resolveSibling("." + path.getFileName() + ".new");
        WritableByteChannel channel = Files.newByteChannel(
                unfinished,
                Set.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE),
                PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
        return new SliceOutput(
                path,
                unfinished,
                new ZipOutputStream(new BufferedOutputStream(Channels.newOutputStream(channel), 1 << 16)));
    }

    /** Adds a call. */
    void add(Part part, byte[] request, byte[] response) throws IOException {
        ByteArrayOutputStream chunk = chunks.get(part);
        chunk.writeBytes(request);
        chunk.writeBytes(response);
        if (chunk.size() >= SliceLayout.CHUNK_BYTES) {
            writeChunk(part);
        }
    }

    private void writeChunk(Part part) throws IOException {
        byte[] bytes = chunks.get(part).toByteArray();
        int number = written.merge(part, 1, Integer::sum) - 1;
        writeEntry(part.chunkName(number), bytes);
        chunks.put(part, new ByteArrayOutputStream(2 * SliceLayout.CHUNK_BYTES));
    }

    private void writeEntry(String name, byte[] bytes) throws IOException {
        CRC32 checksum = new CRC32();
        checksum.update(bytes);
        beginEntry(name, bytes.length, checksum.getValue());
        zip.write(bytes);
        endEntry();
    }

    /**
     * Begins an entry whose bytes are written in pieces.
     *
     * @param checksum CRC-32 of all its bytes
     */
    void beginEntry(String name, long size, long checksum) throws IOException {
        ZipEntry entry = new ZipEntry(name);
        entry.setTimeLocal(TIME);
        entry.setSize(size);
        entry.setCompressedSize(size);
        entry.setCrc(checksum);
        zip.putNextEntry(entry);
    }

    void writePiece(ByteBuffer piece) throws IOException {
        byte[] bytes = new byte[piece.remaining()];
        piece.get(bytes);
        zip.write(bytes);
    }

    void endEntry() throws IOException {
        zip.closeEntry();
    }

    /** Writes the remaining content, and gives the file its final name. */
    void finish(SliceInfo info) throws IOException {
        for (Part part : Part.values()) {
            if (chunks.get(part).size() > 0) {
                writeChunk(part);
            }
        }
        writeEntry(SliceLayout.INFO, SliceInfoJson.write(info));
        zip.close();
        Files.move(unfinished, path, StandardCopyOption.ATOMIC_MOVE);
        isDone = true;
    }

    /** Removes the file if it is unfinished. */
    @Override
    public void close() throws IOException {
        if (!isDone) {
            try {
                zip.close();
            } finally {
                Files.deleteIfExists(unfinished);
            }
        }
    }
}
