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
import java.util.zip.CRC32C;

/** The index records of an archive file, oldest first, as far as they could be read. For one thread. */
final class IndexBlocks {

    private static final int MAX_BYTES = ArchiveLayout.MAX_LATE_ENTRIES * ArchiveLayout.ENTRY_BYTES;

    private final FileBytes bytes;
    private final int tag;
    private final List<ArchiveRecord> blocks = new ArrayList<>();

    IndexBlocks(FileBytes bytes, int tag) {
        this.bytes = bytes;
        this.tag = tag;
    }

    /**
     * Follows the chain from an index record back to the first.
     *
     * @return false when it is broken; there are no blocks then
     */
    boolean load(long last) throws IOException {
        blocks.clear();
        long offset = last;
        while (offset != 0) {
            Optional<ArchiveRecord> block = recordAt(offset).filter(IndexBlocks::isBlock);
            if (block.isEmpty() || block.get().id() >= offset) {
                blocks.clear();
                return false;
            }
            blocks.add(block.get());
            offset = block.get().id();
        }
        Collections.reverse(blocks);
        return true;
    }

    private Optional<ArchiveRecord> recordAt(long offset) throws IOException {
        if (offset < ArchiveLayout.HEADER_BYTES || offset > bytes.size() - ArchiveLayout.RECORD_BYTES) {
            return Optional.empty();
        }
        int at = bytes.at(offset, ArchiveLayout.RECORD_BYTES);
        return at < 0 ? Optional.empty() : ArchiveRecord.decode(bytes.memory(), at, tag, offset);
    }

    private static boolean isBlock(ArchiveRecord record) {
        return record.kind() == Kind.INDEX && record.length() > 0 && record.length() <= MAX_BYTES;
    }

    /** Takes the next one, which a scan has found. Returns false when it does not go on where the last one ended. */
    boolean add(ArchiveRecord block) {
        if (!isBlock(block) || block.id() != last()) {
            return false;
        }
        blocks.add(block);
        return true;
    }

    /** Offset of the newest; 0 when there is none. */
    long last() {
        return blocks.isEmpty() ? 0 : blocks.get(blocks.size() - 1).offset();
    }

    /** Where the records begin that are in no block. */
    long end() {
        return blocks.isEmpty()
                ? ArchiveLayout.HEADER_BYTES
                : blocks.get(blocks.size() - 1).end();
    }

    int count() {
        return blocks.size();
    }

    /**
     * Gives the entries of blocks that may have some of this sequence, newest block first.
     *
     * @return false when one of these blocks is damaged
     */
    boolean search(long sequence, Consumer<ArchiveRecord> sink) throws IOException {
        for (int i = blocks.size() - 1; i >= 0; i--) {
            ArchiveRecord block = blocks.get(i);
            boolean mayHave = block.sequence() <= sequence && sequence <= block.timeNs();
            if (mayHave && !read(block, sink)) {
                return false;
            }
        }
        return true;
    }

    /** Gives all entries from a block on, in their order. Returns false when one of these blocks is damaged. */
    boolean readFrom(int first, Consumer<ArchiveRecord> sink) throws IOException {
        for (int i = first; i < blocks.size(); i++) {
            if (!read(blocks.get(i), sink)) {
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
