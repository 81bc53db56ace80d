package io.waybill.cli.npy;

import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.function.LongFunction;

/**
 * Reads and writes NumPy's {@code .npy} files, of any size. Sizes in a file are checked before memory is allocated.
 *
 * <p><b>Threads.</b> Stateless. <b>Errors.</b> {@link NpyException} with the file's name as prefix.
 */
public final class Npy {

    private static final int CHUNK_BYTES = 64 << 20; // a multiple of every unit whose bytes are swapped

    private Npy() {}

    /**
     * Reads an array directly into native memory.
     *
     * @param memory allocator of the memory; the caller owns the tensor's storage, with one count
     */
    public static Tensor read(Path file, LongFunction<? extends Storage> memory) throws IOException {
        requireRegular(file);
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ)) {
            return read(channel, memory);
        } catch (NpyException e) {
            throw new NpyException(file + " is not an array that can be read: " + e.getMessage(), e);
        }
    }

    /** Checks whether a file can be read, without reading its elements. */
    public static void check(Path file) throws IOException {
        requireRegular(file);
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ)) {
            Opened.of(channel);
        } catch (NpyException e) {
            throw new NpyException(file + " is not an array that can be read: " + e.getMessage(), e);
        }
    }

    private static void requireRegular(Path file) throws IOException {
        if (!Files.exists(file)) {
            throw new NpyException("no file " + file);
        }
        if (!Files.isRegularFile(file)) {
            throw new NpyException("expected a regular file, found something else: " + file);
        }
        if (!Files.isReadable(file)) {
            throw new NpyException("no permission to read " + file);
        }
    }

    /** A file's header, checked against the file's size. */
    private record Opened(NpyHeader header, long dataAt, long dataBytes) {

        static Opened of(FileChannel channel) throws IOException {
            ByteBuffer prefix = ByteBuffer.allocate(NpyHeader.PREFIX_BYTES);
            readUpTo(channel, prefix, 0);
            NpyHeader.TextRange location = NpyHeader.location(prefix.flip());
            ByteBuffer text = ByteBuffer.allocate(location.length());
            if (readUpTo(channel, text, location.at()) < location.length()) {
                throw new NpyException("it ends inside the header");
            }
            NpyHeader header = NpyHeader.parse(text.array());
            long dataBytes = header.dataBytes();
            long present = channel.size() - location.end();
            if (present < dataBytes) {
                throw new NpyException(
                        "it is cut short: expected " + dataBytes + " bytes of elements, found " + present);
            }
            return new Opened(header, location.end(), dataBytes);
        }
    }

    private static Tensor read(FileChannel channel, LongFunction<? extends Storage> memory) throws IOException {
        Opened opened = Opened.of(channel);
        NpyHeader header = opened.header;
        Storage storage = memory.apply(opened.dataBytes);
        try {
            fill(channel, opened.dataAt, storage, opened.dataBytes, header.type());
            return new Tensor(header.type().dtype(), header.shape(), header.strides(), 0, false, storage);
        } catch (IOException | RuntimeException e) {
            storage.release();
            throw e;
        }
    }

    private static void fill(FileChannel channel, long from, Storage storage, long length, ElementType type)
            throws IOException {
        for (long done = 0; done < length; done += CHUNK_BYTES) {
            ByteBuffer chunk = storage.bytes(done, (int) Math.min(CHUNK_BYTES, length - done));
            int expected = chunk.remaining();
            if (readUpTo(channel, chunk, from + done) < expected) {
                throw new NpyException("it became shorter while it was read");
            }
            swap(chunk.flip(), type.swapBytes());
        }
    }

    private static int readUpTo(FileChannel channel, ByteBuffer into, long from) throws IOException {
        int start = into.position();
        int count = 0;
        while (into.hasRemaining() && count >= 0) {
            count = channel.read(into, from + into.position() - start);
        }
        return into.position() - start;
    }

    private static void swap(ByteBuffer bytes, int unit) {
        for (int at = 0; unit > 1 && at < bytes.limit(); at += unit) {
            for (int low = at, high = at + unit - 1; low < high; low++, high--) {
                byte first = bytes.get(low);
                bytes.put(low, bytes.get(high));
                bytes.put(high, first);
            }
        }
    }

    /** Writes an array. An existing file is replaced after the complete write, and stays unchanged if it fails. */
    public static void write(Path file, Tensor tensor) throws IOException {
        requireCpu(file, tensor);
        Elements elements = Elements.asTheyLie(tensor);
        byte[] header = NpyHeader.bytes(ElementType.descr(tensor.dtype()), elements.isFortranOrder(), tensor.sizes());
        write(file, header, elements);
    }

    /** Returns whether a file can hold elements of this type. */
    public static boolean has(DType dtype) {
        return ElementType.isKnown(dtype);
    }

    /** Writes the elements row by row and nothing else, for types that NumPy does not have. */
    public static void writeRaw(Path file, Tensor tensor) throws IOException {
        requireCpu(file, tensor);
        write(file, new byte[0], Elements.byRows(tensor));
    }

    private static void requireCpu(Path file, Tensor tensor) throws NpyException {
        if (!tensor.device().isCpu()) {
            throw new NpyException("expected a tensor on cpu for " + file + ", found one on " + tensor.device());
        }
    }

    private static void write(Path file, byte[] header, Elements elements) throws IOException {
        Path target = target(file);
        Path partial = target.resolveSibling("." + target.getFileName() + "." + System.nanoTime() + ".partial");
        boolean written = false;
        try (FileChannel channel = create(partial)) {
            writeAll(channel, ByteBuffer.wrap(header));
            elements.writeTo(chunk -> writeAll(channel, chunk));
            written = true;
        } finally {
            if (!written) {
                Files.deleteIfExists(partial);
            }
        }
        Files.move(partial, target, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    }

    /** Returns the file to write: the target if it is a link. */
    private static Path target(Path file) throws IOException {
        if (!Files.exists(file)) {
            Path directory = file.toAbsolutePath().getParent();
            if (!Files.isDirectory(directory)) {
                throw new NpyException("no directory " + directory + " to write " + file + " in");
            }
            return file.toAbsolutePath();
        }
        if (!Files.isRegularFile(file)) {
            throw new NpyException("expected a regular file to replace, found something else: " + file);
        }
        return file.toRealPath();
    }

    private static FileChannel create(Path partial) throws IOException {
        try {
            return FileChannel.open(partial, StandardOpenOption.WRITE, StandardOpenOption.CREATE_NEW);
        } catch (AccessDeniedException e) {
            throw new NpyException("no permission to write in " + partial.getParent(), e);
        }
    }

    private static void writeAll(FileChannel channel, ByteBuffer bytes) throws IOException {
        while (bytes.hasRemaining()) {
            channel.write(bytes);
        }
    }
}
