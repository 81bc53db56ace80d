package io.waybill.archive;

import io.waybill.host.SafeFiles;
import io.waybill.journal.JournalQueue;
import io.waybill.journal.RecordPosition;
import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.zip.CRC32C;

/**
 * Reader of the archive of one worker, which the worker may be writing: nothing is mapped or written, and no content of
 * the files can block a read.
 *
 * <p>A storage is named by the position and the sequence of its message's record, and by its number in the record's
 * tensor section. Storages that are inlined in the record are in no archive.
 *
 * <p><b>Threads.</b> One at a time. <b>Memory.</b> Bounded, whatever the archive's size. <b>Errors.</b>
 * {@link IOException} when a file can't be read, or is not what it must be; damage in it is an {@link Omission}.
 */
public final class ArchiveReader implements Closeable {

    private static final int MAX_OPEN = 16;
    private static final int PIECE_BYTES = FileBytes.LARGE;

    private final Path workerDirectory;
    private final SafeFiles files;
    private final LinkedHashMap<Path, ArchiveFile> open = new LinkedHashMap<>(MAX_OPEN, 0.75f, true);

    private ArchiveReader(Path workerDirectory, SafeFiles files) {
        this.workerDirectory = workerDirectory;
        this.files = files;
    }

    /** Opens the archive in a worker's directory, which need not be there. */
    public static ArchiveReader open(Path workerDirectory, SafeFiles files) {
        return new ArchiveReader(workerDirectory, files);
    }

    /** Finds a storage by the position of its record. */
    public ArchivedStorage find(JournalQueue queue, RecordPosition position, long sequence, int storage)
            throws IOException {
        return find(queue, position.fileName(), sequence, storage);
    }

    /** Finds a storage of a record in this file of the queue, such as {@code 20261120-08F.cq4}. */
    public ArchivedStorage find(JournalQueue queue, String queueFileName, long sequence, int storage)
            throws IOException {
        Path path = path(queue, queueFileName);
        Optional<ArchiveFile> file = file(path);
        if (file.isEmpty()) {
            return ArchivedStorage.missing(sequence, storage, Omission.NO_ARCHIVE);
        }
        Optional<ArchiveRecord> record = file.get().find(sequence, storage);
        if (record.isEmpty() && isReplaced(path, file.get())) {
            return find(queue, queueFileName, sequence, storage);
        }
        return record.isPresent()
                ? ArchivedStorage.of(record.get())
                : ArchivedStorage.missing(sequence, storage, file.get().whyNot(sequence));
    }

    private Path path(JournalQueue queue, String queueFileName) {
        return ArchiveLayout.directory(workerDirectory, queue).resolve(ArchiveLayout.fileName(queueFileName));
    }

    private Optional<ArchiveFile> file(Path path) throws IOException {
        ArchiveFile known = open.get(path);
        if (known != null) {
            return Optional.of(known);
        }
        ArchiveFile opened;
        try {
            opened = ArchiveFile.open(path, files);
        } catch (NoSuchFileException e) {
            return Optional.empty();
        }
        if (open.size() >= MAX_OPEN) {
            Path eldest = open.keySet().iterator().next();
            open.remove(eldest).close();
        }
        open.put(path, opened);
        return Optional.of(opened);
    }

    /** Returns whether the records of a file were removed since it was opened; it is discarded then. */
    private boolean isReplaced(Path path, ArchiveFile file) throws IOException {
        boolean wasRemoved = file.header().map(ArchiveHeader::isRemoved).orElse(false);
        file.bytes().forget();
        boolean isRemoved =
                ArchiveWriter.read(file.bytes()).map(ArchiveHeader::isRemoved).orElse(false);
        if (isRemoved && !wasRemoved) {
            open.remove(path).close();
            return true;
        }
        return false;
    }

    /** Receiver of the bytes of a storage, piece by piece. */
    @FunctionalInterface
    public interface Sink {

        /**
         * Accepts a piece.
         *
         * @param piece the next bytes, valid during this call alone
         */
        void accept(ByteBuffer piece) throws IOException;
    }

    /**
     * Passes on the bytes of a storage in order, in pieces of at most 256 KiB. They are verified only after the last
     * one.
     *
     * @return false when they are not the archived bytes: they must not be used
     * @throws IllegalArgumentException when the storage was not kept
     */
    public boolean read(JournalQueue queue, String queueFileName, ArchivedStorage storage, Sink sink)
            throws IOException {
        if (!storage.isKept()) {
            throw new IllegalArgumentException(storage.describe());
        }
        Optional<ArchiveFile> file = file(path(queue, queueFileName));
        return file.isPresent() && read(file.get(), storage, sink);
    }

    private static boolean read(ArchiveFile file, ArchivedStorage storage, Sink sink) throws IOException {
        CRC32C checksum = new CRC32C();
        return read(file, storage.offset(), storage.sizeBytes(), piece -> {
                    checksum.update(piece.duplicate());
                    sink.accept(piece);
                })
                && (int) checksum.getValue() == storage.checksum();
    }

    private static boolean read(ArchiveFile file, long offset, long count, Sink sink) throws IOException {
        FileBytes bytes = file.bytes();
        bytes.forget();
        for (long done = 0; done < count; ) {
            int length = (int) Math.min(PIECE_BYTES, count - done);
            int at = bytes.at(offset + done, length);
            if (at < 0) {
                return false;
            }
            sink.accept(bytes.memory().slice(at, length).asReadOnlyBuffer());
            done += length;
        }
        return true;
    }

    /**
     * Reads a part of the bytes of a storage. They are verified if the part is the whole.
     *
     * @param offset in the storage
     * @param to filled up to its limit, which is inside of the storage
     * @return false when they are not the archived bytes: they must not be used
     * @throws IllegalArgumentException when the storage was not kept, or is shorter
     */
    public boolean read(JournalQueue queue, String queueFileName, ArchivedStorage storage, long offset, ByteBuffer to)
            throws IOException {
        int count = to.remaining();
        if (offset < 0 || offset > storage.sizeBytes() - count) {
            throw new IllegalArgumentException(
                    "expected a part of " + storage.sizeBytes() + " bytes, found " + count + " bytes at " + offset);
        }
        if (count == storage.sizeBytes()) {
            return read(queue, queueFileName, storage, to::put);
        }
        if (!storage.isKept()) {
            throw new IllegalArgumentException(storage.describe());
        }
        Optional<ArchiveFile> file = file(path(queue, queueFileName));
        return file.isPresent() && read(file.get(), storage.offset() + offset, count, to::put);
    }

    /**
     * Returns whether the archive's file is long enough for a kept storage, so that memory for its bytes may be
     * allocated.
     */
    public boolean reaches(JournalQueue queue, String queueFileName, ArchivedStorage storage) throws IOException {
        Optional<ArchiveFile> file = file(path(queue, queueFileName));
        return file.isPresent()
                && storage.isKept()
                && storage.sizeBytes() <= file.get().bytes().size() - storage.offset();
    }

    /** Returns whether the bytes of a storage are those that were archived. */
    public boolean check(JournalQueue queue, String queueFileName, ArchivedStorage storage) throws IOException {
        return read(queue, queueFileName, storage, piece -> {});
    }

    /** Returns the names of the queue's files that have an archive, oldest first. */
    public List<String> fileNames(JournalQueue queue) throws IOException {
        return ArchiveFiles.in(workerDirectory, queue, files).stream()
                .map(path -> {
                    String name = path.getFileName().toString();
                    return name.substring(0, name.length() - ArchiveLayout.SUFFIX.length())
                            + ArchiveLayout.QUEUE_SUFFIX;
                })
                .toList();
    }

    /**
     * Scans one archive file.
     *
     * @param storages accepts each storage with a record, in file order
     * @param damage accepts descriptions of damage
     */
    public void scan(
            JournalQueue queue, String queueFileName, Consumer<ArchivedStorage> storages, Consumer<String> damage)
            throws IOException {
        Path path = path(queue, queueFileName);
        try (ArchiveFile file = ArchiveFile.open(path, files)) {
            file.scanAll(
                    record -> {
                        if (record.kind() == ArchiveRecord.Kind.STORAGE) {
                            storages.accept(ArchivedStorage.of(record));
                        }
                    },
                    range -> damage.accept(path + ": no record from " + range.from() + " to " + range.to()));
        }
    }

    @Override
    public void close() {
        for (Map.Entry<Path, ArchiveFile> entry : open.entrySet()) {
            entry.getValue().close();
        }
        open.clear();
    }
}
