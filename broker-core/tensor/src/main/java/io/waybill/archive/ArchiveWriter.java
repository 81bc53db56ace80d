package io.waybill.archive;

import io.waybill.archive.ArchiveRecord.Kind;
import io.waybill.host.NativeFile;
import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.zip.CRC32C;
import org.agrona.BufferUtil;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Appends records to one archive file: the content first, then the header that makes it a record.
 *
 * <p><b>Threads.</b> One at a time. <b>Ownership.</b> Closes the file. <b>Errors.</b> {@link IOException}; the file is
 * then as it was before, but for bytes behind its last record.
 */
final class ArchiveWriter implements Closeable {

    private static final Logger LOG = LoggerFactory.getLogger(ArchiveWriter.class);
    private static final int PIECE_BYTES = 256 << 10;
    /** Max number of notes in one write: the number of entries of an index record. */
    static final int MAX_NOTES = ArchiveLayout.MAX_ENTRIES;

    /**
     * Archive policy of one process of a worker for one of its queues. Immutable.
     *
     * @param epoch epoch of the worker's incarnation
     * @param firstSequence sequence of the first message that this process appended to the queue
     * @param maxStorageBytes max size of a storage that is kept
     */
    record Session(ArchivePolicy policy, long epoch, long firstSequence, long maxStorageBytes) {

        /** Returns a copy for another queue. */
        Session from(long otherFirstSequence) {
            return new Session(policy, epoch, otherFirstSequence, maxStorageBytes);
        }
    }

    /** Source of the bytes of a storage. For one thread. */
    interface Content {

        long size();

        /**
         * Reads into native memory.
         *
         * @return number of bytes, at least 1
         * @throws IOException when they can't be read
         */
        long read(long offset, long address, long length) throws IOException;

        /** Returns, after the last read, whether the bytes are those that were sent, as far as can be known. */
        boolean isStillThere();
    }

    /**
     * Note that a storage is not kept. Immutable.
     *
     * @param id id of its message
     * @param sequence sequence of its message
     * @param storage number of the storage in the message
     * @param sizeBytes size of the storage
     * @param timeNs wall clock
     */
    record Note(Omission why, long id, long sequence, int storage, long sizeBytes, long timeNs) {}

    /** Thrown when the bytes that were to be archived can't be read. */
    static final class UnreadableBytesException extends IOException {

        private static final long serialVersionUID = 1L;

        private UnreadableBytesException(IOException cause) {
            super(cause.getMessage(), cause);
        }
    }

    private final NativeFile file;
    private final ArchiveHeader header;
    private final ByteBuffer piece = BufferUtil.allocateDirectAligned(PIECE_BYTES, ArchiveLayout.ALIGNMENT)
            .order(ByteOrder.LITTLE_ENDIAN);
    private final long pieceAddress = BufferUtil.address(piece);
    private final ByteBuffer head = BufferUtil.allocateDirectAligned(
                    ArchiveLayout.HEADER_BYTES, ArchiveLayout.ALIGNMENT)
            .order(ByteOrder.LITTLE_ENDIAN);
    private final IndexEntries entries;
    private final CRC32C checksum = new CRC32C();
    private long end;

    /**
     * Creates a writer.
     *
     * @param end offset of the next record; the rest is truncated
     */
    ArchiveWriter(NativeFile file, ArchiveHeader header, IndexEntries entries, long end) throws IOException {
        this.file = file;
        this.header = header;
        this.entries = entries;
        this.end = end;
        if (file.size() > end) {
            file.truncate(end);
        }
    }

    ArchiveHeader header() {
        return header;
    }

    /** Returns the size of the file. */
    long end() {
        return end;
    }

    /**
     * Copies a storage.
     *
     * @return false when it was dropped because its bytes were not those that were sent any more
     * @throws UnreadableBytesException when its bytes can't be read
     */
    boolean append(long id, long sequence, int storage, int flags, Content content, long timeNs) throws IOException {
        checksum.reset();
        try {
            long at = end + ArchiveLayout.RECORD_BYTES;
            long size = content.size();
            if (size > PIECE_BYTES) {
                announce(id, sequence, storage, size, timeNs);
            }
            for (long done = 0; done < size; ) {
                done += copy(content, done, at + done, (int) Math.min(PIECE_BYTES, size - done));
            }
            if (!content.isStillThere()) {
                cut();
                return false;
            }
            int crc = size == 0 ? 0 : (int) checksum.getValue();
            ArchiveRecord record =
                    new ArchiveRecord(Kind.STORAGE, 0, flags, end, id, sequence, size, crc, storage, timeNs);
            pad(at + size, record.end());
            write(record);
            return true;
        } catch (IOException e) {
            cut();
            throw e;
        }
    }

    /** Writes a header first, so that readers don't search for records in an incomplete content. */
    private void announce(long id, long sequence, int storage, long size, long timeNs) throws IOException {
        new ArchiveRecord(Kind.UNFINISHED, 0, 0, end, id, sequence, size, 0, storage, timeNs)
                .encode(head, header.tag());
        writeFully(BufferUtil.address(head), ArchiveLayout.RECORD_BYTES, end);
    }

    private int copy(Content content, long from, long to, int length) throws IOException {
        int read;
        try {
            read = (int) content.read(from, pieceAddress, length);
        } catch (IOException e) {
            throw new UnreadableBytesException(e);
        }
        checksum.update(piece.clear().limit(read));
        writeFully(pieceAddress, read, to);
        return read;
    }

    /**
     * Writes notes of storages that are not kept, at most {@value #MAX_NOTES}, with one write: all of them, or none.
     */
    void omit(List<Note> notes) throws IOException {
        List<ArchiveRecord> records = new ArrayList<>(notes.size());
        piece.clear();
        long at = end;
        for (Note note : notes) {
            ArchiveRecord record = new ArchiveRecord(
                    Kind.STORAGE,
                    note.why.code(),
                    0,
                    at,
                    note.id,
                    note.sequence,
                    note.sizeBytes,
                    0,
                    note.storage,
                    note.timeNs);
            record.encode(
                    piece.slice((int) (at - end), ArchiveLayout.RECORD_BYTES).order(ByteOrder.LITTLE_ENDIAN),
                    header.tag());
            records.add(record);
            at = record.end();
        }
        try {
            writeFully(pieceAddress, (int) (at - end), end);
        } catch (IOException e) {
            cut();
            throw e;
        }
        end = at;
        index(records);
    }

    /** Writes that this number of storages of messages between two sequences are not kept. */
    void gap(Omission why, long first, long last, long storages, long timeNs) throws IOException {
        write(Kind.GAP, why.code(), storages, first, last, 0, timeNs);
    }

    /** Writes the policy by which storages are kept from a sequence on. */
    void session(Session session, long timeNs) throws IOException {
        int policy = session.policy().ordinal();
        write(Kind.SESSION, policy, session.epoch(), session.firstSequence(), session.maxStorageBytes(), 0, timeNs);
    }

    /** Writes that everything before a sequence is done. */
    void end(long sequence, long timeNs) throws IOException {
        write(Kind.END, 0, 0, sequence, 0, 0, timeNs);
    }

    private void write(Kind kind, int code, long id, long sequence, long length, int storage, long timeNs)
            throws IOException {
        write(new ArchiveRecord(kind, code, 0, end, id, sequence, length, 0, storage, timeNs));
    }

    private void write(ArchiveRecord record) throws IOException {
        put(record);
        index(List.of(record));
    }

    /**
     * Adds records to the index, only behind the last of them: readers scan what follows an index record, and nothing
     * before it.
     */
    private void index(List<ArchiveRecord> records) {
        records.forEach(entries::add);
        if (entries.isFull()) {
            tryIndex();
        }
    }

    /**
     * Writes index records if possible. If the disk is full, they are written later or never: readers find the records
     * without.
     */
    private void tryIndex() {
        try {
            while (!entries.isEmpty()) {
                writeIndexRecord();
            }
        } catch (IOException e) {
            LOG.debug("No index of the newest records of {} could be written", file, e);
        }
    }

    private void put(ArchiveRecord record) throws IOException {
        record.encode(head, header.tag());
        writeFully(BufferUtil.address(head), ArchiveLayout.RECORD_BYTES, record.offset());
        end = record.end();
    }

    private void writeIndexRecord() throws IOException {
        try {
            int length = entries.encode(piece.clear());
            checksum.reset();
            checksum.update(piece.clear().limit(length));
            writeFully(pieceAddress, length, end + ArchiveLayout.RECORD_BYTES);
            ArchiveRecord record = entries.record(end, length, (int) checksum.getValue());
            pad(record.contentOffset() + length, record.end());
            put(record);
            entries.written(record.offset());
            head.putLong(0, record.offset());
            writeFully(BufferUtil.address(head), Long.BYTES, ArchiveLayout.LAST_INDEX_AT);
        } catch (IOException e) {
            cut();
            throw e;
        }
    }

    /** Pads the file, so that the next record begins inside it. */
    private void pad(long from, long to) throws IOException {
        for (int i = 0; i < ArchiveLayout.ALIGNMENT; i += Long.BYTES) {
            head.putLong(i, 0);
        }
        writeFully(BufferUtil.address(head), (int) (to - from), from);
    }

    private void writeFully(long address, int length, long offset) throws IOException {
        writeFully(file, address, length, offset);
    }

    private static void writeFully(NativeFile to, long address, int length, long offset) throws IOException {
        for (int done = 0; done < length; ) {
            done += (int) to.writeAt(address + done, length - done, offset + done);
        }
    }

    private void cut() throws IOException {
        file.truncate(end);
    }

    /** Begins a file, from scratch if it exists. */
    static void begin(NativeFile file, ArchiveHeader header) throws IOException {
        file.truncate(0);
        put(file, header);
    }

    /** Removes all records, and writes that they were removed. */
    static void removeRecords(NativeFile file, ArchiveHeader header) throws IOException {
        put(file, header.removed());
        file.truncate(ArchiveLayout.HEADER_BYTES);
    }

    /** Writes the header over the existing one, but for the hint. */
    static void put(NativeFile file, ArchiveHeader header) throws IOException {
        ByteBuffer bytes = BufferUtil.allocateDirectAligned(ArchiveLayout.HEADER_BYTES, ArchiveLayout.ALIGNMENT)
                .order(ByteOrder.LITTLE_ENDIAN);
        header.encode(bytes);
        int length =
                file.size() < ArchiveLayout.HEADER_BYTES ? ArchiveLayout.HEADER_BYTES : ArchiveLayout.CHECKED_BYTES;
        writeFully(file, BufferUtil.address(bytes), length, 0);
    }

    /** Reads the header of an existing file; empty when it has none. */
    static Optional<ArchiveHeader> read(FileBytes bytes) throws IOException {
        int at = bytes.at(0, ArchiveLayout.HEADER_BYTES);
        return at < 0
                ? Optional.empty()
                : ArchiveHeader.decode(
                        bytes.memory().slice(at, ArchiveLayout.HEADER_BYTES).order(ByteOrder.LITTLE_ENDIAN));
    }

    /** Writes the rest of the index, as far as there is room for it, and closes the file. */
    @Override
    public void close() {
        tryIndex();
        file.close();
    }
}
