package io.waybill.archive;

import io.waybill.archive.ArchiveRecord.Kind;
import io.waybill.archive.ArchiveScan.Step;
import io.waybill.host.NativeFile;
import io.waybill.host.SafeFiles;
import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * Reader of one archive file, which its worker may be writing: finds records by sequence, with the index records and a
 * scan of the records after them. A file with a damaged index is scanned from its start.
 *
 * <p><b>Threads.</b> One at a time. <b>Ownership.</b> Closes the file. <b>Memory.</b> Bounded.
 */
final class ArchiveFile implements Closeable {

    /** Max number of remembered records that no index names; beyond it each lookup reads the file. */
    private static final int MAX_REMEMBERED = 4 * ArchiveLayout.MAX_LATE_ENTRIES;

    private final FileBytes bytes;
    private final Optional<ArchiveHeader> header;
    private final IndexBlocks blocks;
    private final History history = new History();
    private final List<ArchiveRecord> tail = new ArrayList<>();
    private ArchiveScan scan;
    private int historyBlocks;
    private boolean isIndexed = true;
    private boolean isDamaged;

    private ArchiveFile(FileBytes bytes) throws IOException {
        this.bytes = bytes;
        this.header = ArchiveWriter.read(bytes);
        this.isDamaged = header.isEmpty();
        this.blocks = new IndexBlocks(bytes, tag());
        this.scan = new ArchiveScan(bytes, tag(), blocks.end());
    }

    /**
     * Opens a file.
     *
     * @throws java.nio.file.NoSuchFileException when it does not exist
     */
    static ArchiveFile open(Path path, SafeFiles files) throws IOException {
        NativeFile file = files.openNative(path, ArchiveLayout.MAX_FILE_BYTES);
        try {
            return new ArchiveFile(new FileBytes(file));
        } catch (IOException | RuntimeException e) {
            file.close();
            throw e;
        }
    }

    /** Returns the header; empty when it is damaged. */
    Optional<ArchiveHeader> header() {
        return header;
    }

    /** Returns the record of a storage; empty when there is none, or none that is whole. */
    Optional<ArchiveRecord> find(long sequence, int storage) throws IOException {
        refresh();
        for (int i = tail.size() - 1; i >= 0; i--) {
            if (tail.get(i).isOf(sequence, storage)) {
                return Optional.of(tail.get(i));
            }
        }
        return isIndexed ? findIndexed(sequence, storage) : search(sequence, storage);
    }

    private Optional<ArchiveRecord> findIndexed(long sequence, int storage) throws IOException {
        ArchiveRecord[] newest = new ArchiveRecord[1];
        boolean isWhole = blocks.read(
                0,
                block -> block.sequence() <= sequence && sequence <= block.timeNs(),
                entry -> newest[0] = entry.isOf(sequence, storage) ? entry : newest[0]);
        if (!isWhole) {
            return search(sequence, storage);
        }
        if (newest[0] == null) {
            return Optional.empty();
        }
        Optional<ArchiveRecord> there = new ArchiveScan(bytes, tag(), newest[0].offset())
                .here()
                .filter(record -> record.isOf(sequence, storage));
        isDamaged |= there.isEmpty();
        return there;
    }

    private int tag() {
        return header.map(ArchiveHeader::tag).orElse(0);
    }

    /** Scans the whole file. */
    private Optional<ArchiveRecord> search(long sequence, int storage) throws IOException {
        List<ArchiveRecord> found = new ArrayList<>(1);
        isDamaged |= !scanAll(
                record -> {
                    if (record.isOf(sequence, storage)) {
                        found.add(record);
                    }
                },
                damage -> {});
        return found.stream().findFirst();
    }

    /** Range of offsets without a record. */
    record Range(long from, long to) {}

    /**
     * Passes on all records, and the damage between them, in order.
     *
     * @return whether there is no damage
     */
    boolean scanAll(Consumer<ArchiveRecord> records, Consumer<Range> damage) throws IOException {
        bytes.forget();
        boolean whole = header.isPresent();
        if (!whole) {
            damage.accept(new Range(0, ArchiveLayout.HEADER_BYTES));
        }
        ArchiveScan all = new ArchiveScan(bytes, tag(), ArchiveLayout.HEADER_BYTES);
        Step step = all.next();
        while (step != Step.END) {
            if (step == Step.RECORD) {
                records.accept(all.record());
            } else {
                whole = false;
                damage.accept(new Range(all.damagedFrom(), all.position()));
            }
            step = all.next();
        }
        return whole;
    }

    /** Reads what was appended since the last time. */
    private void refresh() throws IOException {
        bytes.forget();
        Step step = scan.next();
        while (step != Step.END && isIndexed) {
            if (step == Step.DAMAGE) {
                isDamaged = true;
            } else if (scan.record().kind() == Kind.INDEX && blocks.add(scan.record())) {
                tail.clear();
            } else {
                tail.add(scan.record());
                isIndexed = tail.size() <= MAX_REMEMBERED;
            }
            step = scan.next();
        }
        if (!isIndexed) {
            tail.clear();
        }
    }

    /** Returns why a storage is absent that {@link #find} did not find. */
    Omission whyNot(long sequence) throws IOException {
        if (header.isPresent() && header.get().isRemoved()) {
            return Omission.REMOVED;
        }
        Omission why = readHistory().whyNot(sequence);
        boolean mayHaveBeenThere = why == Omission.LOST || why == Omission.PENDING || why == Omission.NOT_KEPT;
        return isDamaged && mayHaveBeenThere ? Omission.DAMAGED : why;
    }

    private History readHistory() throws IOException {
        if (isIndexed && blocks.read(historyBlocks, block -> true, history::add)) {
            historyBlocks = blocks.count();
            History now = history.copy();
            tail.forEach(now::add);
            return now;
        }
        History all = new History();
        isDamaged |= !scanAll(all::add, damage -> {});
        return all;
    }

    /** Returns the number of remembered records outside of the index. */
    int remembered() {
        return tail.size();
    }

    FileBytes bytes() {
        return bytes;
    }

    @Override
    public void close() {
        bytes.close();
    }
}
