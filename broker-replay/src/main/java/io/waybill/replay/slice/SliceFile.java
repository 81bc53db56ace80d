package io.waybill.replay.slice;

import io.waybill.archive.ArchiveReader.Sink;
import io.waybill.replay.slice.SliceLayout.Part;
import java.io.Closeable;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.EnumMap;
import java.util.Enumeration;
import java.util.HashSet;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.zip.CRC32;
import java.util.zip.ZipEntry;
import java.util.zip.ZipException;
import java.util.zip.ZipFile;

/**
 * A slice's file, open for reading. Its entries are stored uncompressed and together not larger than the file, so
 * reading uses no more memory than the file's size.
 *
 * <p><b>Threads.</b> Thread-safe. <b>Errors.</b> {@link MalformedSliceException} with the file and the entry.
 */
final class SliceFile implements Closeable {

    private static final int PIECE_BYTES = 256 << 10;

    private final Path path;
    private final ZipFile zip;
    private final Map<Part, Integer> chunks = new EnumMap<>(Part.class);
    private int tensors;

    private SliceFile(Path path, ZipFile zip) {
        this.path = path;
        this.zip = zip;
    }

    static SliceFile open(Path path) throws IOException {
        if (!Files.isRegularFile(path)) {
            throw new MalformedSliceException(path + ": expected a slice, found no file");
        }
        SliceFile opened;
        try {
            opened = new SliceFile(path, new ZipFile(path.toFile()));
        } catch (ZipException | IllegalArgumentException e) {
            throw new MalformedSliceException(
                    path + ": expected a slice, which is a zip file, found " + Files.size(path)
                            + " bytes that are none: " + e.getMessage(),
                    e);
        }
        try {
            opened.checkEntries();
            return opened;
        } catch (IOException | RuntimeException e) {
            opened.close();
            throw e;
        }
    }

    private void checkEntries() throws IOException {
        Set<String> names = new HashSet<>();
        long left = Files.size(path);
        for (Enumeration<? extends ZipEntry> all = zip.entries(); all.hasMoreElements(); ) {
            ZipEntry entry = all.nextElement();
            String name = entry.getName();
            long size = entry.getSize();
            require(
                    entry.getMethod() == ZipEntry.STORED && size == entry.getCompressedSize(),
                    name,
                    "expected an entry that is stored as it is, found method %d and %d bytes in %d",
                    entry.getMethod(),
                    size,
                    entry.getCompressedSize());
            left -= size;
            String tooMany = "expected entries that fit into %d bytes, found one of %d bytes, and %d too many";
            require(size >= 0 && left >= 0, name, tooMany, Files.size(path), size, -left);
            require(names.add(name), name, "expected one entry of this name, found two");
            count(name);
        }
        for (Part part : Part.values()) {
            for (int number = 0; number < chunks(part); number++) {
                entry(part.chunkName(number));
            }
        }
    }

    private void count(String name) throws MalformedSliceException {
        for (Part part : Part.values()) {
            if (part.isNameOfChunk(name)) {
                chunks.merge(part, 1, Integer::sum);
                return;
            }
        }
        boolean isTensor = name.startsWith(SliceLayout.TENSORS);
        tensors += isTensor ? 1 : 0;
        boolean isKnown = isTensor || name.equals(SliceLayout.INFO);
        require(isKnown, name, "expected calls/, needed/, tensors/ and %s, found this entry", SliceLayout.INFO);
    }

    /** Throws unless a condition on an entry holds. */
    void require(boolean holds, String entry, String otherwise, Object... arguments) throws MalformedSliceException {
        if (!holds) {
            throw new MalformedSliceException(
                    path + ": " + entry + ": " + String.format(Locale.ROOT, otherwise, arguments));
        }
    }

    Path path() {
        return path;
    }

    /** Returns the number of entries with calls of this part. */
    int chunks(Part part) {
        return chunks.getOrDefault(part, 0);
    }

    /** Returns the number of entries with bytes of tensors. */
    int tensors() {
        return tensors;
    }

    private ZipEntry entry(String name) throws MalformedSliceException {
        ZipEntry entry = zip.getEntry(name);
        require(entry != null, name, "expected this entry, found none");
        return entry;
    }

    SliceInfo info() throws IOException {
        try {
            return SliceInfoJson.read(read(SliceLayout.INFO, SliceLayout.MAX_INFO_BYTES));
        } catch (MalformedSliceException e) {
            throw e.getMessage().startsWith(path.toString()) ? e : e.at(path + ": " + SliceLayout.INFO);
        }
    }

    /** Returns the messages of an entry. */
    ByteBuffer chunk(Part part, int number) throws IOException {
        return ByteBuffer.wrap(read(part.chunkName(number), SliceLayout.MAX_CHUNK_BYTES))
                .order(ByteOrder.LITTLE_ENDIAN);
    }

    private byte[] read(String name, int maxCount) throws IOException {
        long size = entry(name).getSize();
        require(size <= maxCount, name, "expected at most %d bytes, found %d", maxCount, size);
        ByteBuffer bytes = ByteBuffer.allocate((int) size);
        read(name, bytes::put);
        return bytes.array();
    }

    /** Returns the size of an entry; empty if there is none. */
    Optional<Long> size(String name) {
        return Optional.ofNullable(zip.getEntry(name)).map(ZipEntry::getSize);
    }

    /** Passes the bytes of an entry to a sink in pieces; they are verified at the end. */
    void read(String name, Sink sink) throws IOException {
        ZipEntry entry = entry(name);
        byte[] piece = new byte[(int) Math.min(PIECE_BYTES, Math.max(1, entry.getSize()))];
        CRC32 checksum = new CRC32();
        long done = 0;
        try (InputStream in = zip.getInputStream(entry)) {
            for (int read = in.read(piece); read >= 0; read = in.read(piece)) {
                checksum.update(piece, 0, read);
                done += read;
                sink.accept(ByteBuffer.wrap(piece, 0, read));
            }
        } catch (ZipException e) {
            throw new MalformedSliceException(path + ": " + name + ": expected an entry, found " + e.getMessage(), e);
        }
        String text = "expected %d bytes with the checksum %08x, found %d with %08x";
        boolean isWhole = done == entry.getSize() && checksum.getValue() == entry.getCrc();
        require(isWhole, name, text, entry.getSize(), entry.getCrc(), done, checksum.getValue());
    }

    @Override
    public void close() throws IOException {
        zip.close();
    }
}
