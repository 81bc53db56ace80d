package io.waybill.worker.upkeep;

import io.waybill.host.NativeCallException;
import io.waybill.host.NativeCalls;
import io.waybill.journal.append.Journal;
import io.waybill.journal.append.Touchable;
import java.io.IOException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Loads the pages that a journal will write next into memory, so that the writer takes no page fault. The distance
 * depends on the amount that was written since the last time.
 *
 * <p>For one background thread.
 */
final class PageToucher {

    private static final Logger LOG = LoggerFactory.getLogger(PageToucher.class);
    private static final long PAGE_BYTES = 4096;
    private static final long LEAST_AHEAD_BYTES = 256 << 10;
    /** Pages are filled at least this far ahead of the writer, which needs no lock for those nearer than a megabyte. */
    private static final long FILLED_BEYOND_BYTES = 2 << 20;

    private static final long MAX_AHEAD_BYTES = 16 << 20;

    private final Journal journal;
    private final NativeCalls calls;
    private Touchable block;
    private long touchedTo;
    private long writtenBefore;
    private boolean unsupported;

    PageToucher(Journal journal, NativeCalls calls) {
        this.journal = journal;
        this.calls = calls;
    }

    /** Fills the next pages. Call every few milliseconds. */
    void touch() {
        Touchable now = journal.touchable();
        if (unsupported || now.end() == 0) {
            return;
        }
        long written = journal.writtenTo();
        if (now != block) {
            block = now;
            touchedTo = written;
            writtenBefore = written;
        }
        long pace = Math.max(0, written - writtenBefore);
        writtenBefore = written;
        long ahead = Math.max(LEAST_AHEAD_BYTES, Math.min(MAX_AHEAD_BYTES, 3 * pace));
        long from = Math.max(touchedTo, written) & -PAGE_BYTES;
        long to = Math.min(now.end(), written + ahead) & -PAGE_BYTES;
        if (to - from < PAGE_BYTES || from < touchedTo - PAGE_BYTES) {
            return;
        }
        try {
            journal.fill(now, to + FILLED_BEYOND_BYTES);
            touchedTo = journal.touch(now, from, to, this::touch);
        } catch (IOException e) {
            if (e instanceof NativeCallException call && call.isUnsupported()) {
                unsupported = true; // a kernel before 5.14
            } else {
                touchedTo = to; // the block was left meanwhile, or the disk is full: the writer detects that by itself
                LOG.debug("Pages of {} could not be touched ahead", journal.directory(), e);
            }
        }
    }

    private void touch(long from, long to) throws NativeCallException {
        calls.advise(block.baseAddress() + from, to - from, NativeCalls.Advice.POPULATE_WRITE);
    }
}
