package io.waybill.archive;

import io.waybill.archive.ArchiveRecord.Kind;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.zip.CRC32C;

/** Index records of an archive file, oldest first, as far as they could be read. For one thread. */
final class IndexBlocks {

    private static final int MAX_BYTES = ArchiveLayout.MAX_LATE_ENTRIES * ArchiveLayout.ENTRY_BYTES;

    private final FileBytes bytes;
    private final int tag;
    private final List<ArchiveRecord> blocks = new ArrayList<>();

    /**
     * Reads the blocks that the chain from the last one names; none when it is broken, and then a scan finds them all.
     */
    IndexBlocks(FileBytes bytes, int tag) throws IOException {
        this.bytes = bytes;
        this.tag = tag;
        int at = tag == 0 ? -1 : bytes.at(ArchiveLayout.LAST_INDEX_AT, Long.BYTES);
        if (at >= 0) {
            load(bytes.memory().getLong(at));
        }
    }

    private void load(long last) throws IOException {
        for (long offset = last; offset != 0; ) {
            Optional<ArchiveRecord> block =
                    new ArchiveScan(bytes, tag, offset).here().filter(IndexBlocks::isBlock);
            if (block.isEmpty() || block.get().id() >= offset) {
                blocks.clear();
                return;
            }
            blocks.add(block.get());
            offset = block.get().id();
        }
        Collections.reverse(blocks);
    }

    private static boolean isBlock(ArchiveRecord record) {
        return record.kind() == Kind.INDEX && record.length() > 0 && record.length() <= MAX_BYTES;
    }

    /** Adds the next block, found by a scan. Returns false when it does not continue the last one. */
    boolean add(ArchiveRecord block) {
        if (!isBlock(block) || block.id() != last()) {
            return false;
        }
        blocks.add(block);
        return true;
    }

    /** Returns the offset of the newest block; 0 when there is none. */
    long last() {
        return blocks.isEmpty() ? 0 : blocks.get(blocks.size() - 1).offset();
    }

    /** Returns the offset from which on records are in no block. */
    long end() {
        return blocks.isEmpty()
                ? ArchiveLayout.HEADER_BYTES
                : blocks.get(blocks.size() - 1).end();
    }

    int count() {
        return blocks.size();
    }

    /**
     * Reads the entries of some blocks, oldest first.
     *
     * @param first number of the first block to read
     * @return false when one of these blocks is damaged
     */
    boolean read(int first, Predicate<ArchiveRecord> wanted, Consumer<ArchiveRecord> sink) throws IOException {
        for (ArchiveRecord block : blocks.subList(first, blocks.size())) {
            if (wanted.test(block) && !read(block, sink)) {
                return false;
            }
        }
        return true;
    }

    private boolean read(ArchiveRecord block, Consumer<ArchiveRecord> sink) throws IOException {
        int length = (int) block.length();
        int at = bytes.at(block.contentOffset(), length);
        if (at < 0) {
            return false;
        }
        ByteBuffer content = bytes.memory().slice(at, length).order(ByteOrder.LITTLE_ENDIAN);
        CRC32C checksum = new CRC32C();
        checksum.update(content.duplicate());
        if ((int) checksum.getValue() != block.checksum()) {
            return false;
        }
        while (content.remaining() >= ArchiveLayout.ENTRY_BYTES) {
            Optional<ArchiveRecord> record = IndexEntries.decode(content, block.offset());
            if (record.isEmpty()) {
                return false;
            }
            sink.accept(record.get());
        }
        return true;
    }
}
