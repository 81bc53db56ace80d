package io.waybill.broker;

import io.waybill.api.MessageId;
import io.waybill.home.WorkerDirectory;
import io.waybill.host.SafeFiles;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Locale;
import java.util.concurrent.atomic.AtomicLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.zip.CRC32;

/**
 * Source of ids that are given once in a home: the worker's id, and a counter of 48 bits that goes through blocks of
 * 2^24. The n-th incarnation begins at block n - 1 at the earliest. An incarnation that takes more blocks stores the
 * number of the next block in the file {@value #FILE}, before it takes an id of such a block; most workers never have
 * that file.
 *
 * <p><b>Threads.</b> Thread-safe.
 */
public final class UniqueIds {

    static final String FILE = "ids";
    static final int BLOCK_BITS = 24;

    private static final long MAX_BLOCK = MessageId.MAX_COUNTER >> BLOCK_BITS;
    private static final int MAX_BYTES = 64;
    private static final Pattern CONTENT = Pattern.compile("ids 1 next (\\d{1,9}) crc ([0-9a-f]{8})\n");

    private final long workerBits;
    private final long epoch;
    private final SafeFiles files;
    private final Path file;
    private final AtomicLong next = new AtomicLong();
    private volatile long end; // end of the block; 0 before the first
    private long nextBlock = -1; // guarded by this; -1 before the file was read

    public UniqueIds(WorkerDirectory directory) {
        this(
                directory.id(),
                directory.epoch(),
                directory.home().host().files(),
                directory.path().resolve(FILE));
    }

    UniqueIds(int worker, long epoch, SafeFiles files, Path file) {
        this.workerBits = (long) worker << 48;
        this.epoch = epoch;
        this.files = files;
        this.file = file;
    }

    /**
     * Returns the next id.
     *
     * @throws IllegalStateException when the file is damaged or can't be written, or all ids are used
     */
    public long next() {
        while (true) {
            long id = next.get();
            if (id >= end) {
                takeBlock();
            } else if (next.compareAndSet(id, id + 1)) {
                return workerBits | id;
            }
        }
    }

    private synchronized void takeBlock() {
        if (next.get() < end) {
            return; // another thread has taken one
        }
        try {
            long block = nextBlock < 0 ? Math.max(epoch - 1, readNext()) : nextBlock;
            if (block > MAX_BLOCK) {
                throw new IllegalStateException("all ids of this worker are used");
            }
            if (block + 1 > epoch) { // otherwise the next incarnation begins behind it anyway
                files.replaceAtomically(file, content(block + 1));
            }
            nextBlock = block + 1;
            next.set(block << BLOCK_BITS); // first: it is not below the end of the previous block
            end = block + 1 << BLOCK_BITS;
        } catch (IOException e) {
            throw new IllegalStateException("no ids: " + file + " can't be read or written: " + e.getMessage(), e);
        }
    }

    private long readNext() throws IOException {
        String text;
        try {
            text = new String(files.readSmall(file, MAX_BYTES), StandardCharsets.ISO_8859_1);
        } catch (NoSuchFileException e) {
            return 0;
        }
        Matcher matcher = CONTENT.matcher(text);
        if (!matcher.matches() || !text.equals(text(Long.parseLong(matcher.group(1))))) {
            throw new IOException("expected \"ids 1 next <block> crc <checksum>\", found " + text.length()
                    + " bytes that are not that;" + " ids that were given could be given again");
        }
        return Long.parseLong(matcher.group(1));
    }

    private static byte[] content(long next) {
        return text(next).getBytes(StandardCharsets.ISO_8859_1);
    }

    private static String text(long next) {
        String start = "ids 1 next " + next;
        CRC32 crc = new CRC32();
        crc.update(start.getBytes(StandardCharsets.ISO_8859_1));
        return String.format(Locale.ROOT, "%s crc %08x\n", start, crc.getValue());
    }
}
