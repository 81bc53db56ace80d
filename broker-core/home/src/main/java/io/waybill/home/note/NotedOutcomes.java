package io.waybill.home.note;

import io.waybill.api.ErrorCode;
import io.waybill.host.Host;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Optional;
import org.agrona.collections.Long2LongHashMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Outcomes that a worker gave its own calls: a timeout, the loss of the peer, its own close, a response that it could
 * not read. No record of a journal has them. The newest {@value OutcomesLayout#MAX} are kept, in the worker's file
 * {@code outcomes}; they are for readers, and nothing depends on them.
 *
 * <p><b>Threads.</b> Any. <b>Ownership.</b> Its creator closes it; what is noted later is dropped. <b>Errors.</b> What
 * can't be written is logged once and dropped: a call ends as it does.
 */
public final class NotedOutcomes implements AutoCloseable {

    /** Name of the file in a worker's directory. */
    public static final String FILE = OutcomesLayout.FILE;

    private static final Logger LOG = LoggerFactory.getLogger(NotedOutcomes.class);

    private final Path file;
    private final Host host;
    private FileChannel channel; // these are guarded by this; null until there is something to note
    private int next;
    private boolean failing;
    private boolean closed;

    public NotedOutcomes(Path worker, Host host) {
        this.file = OutcomesLayout.in(worker);
        this.host = host;
    }

    /**
     * Outcome that a worker gave its call.
     *
     * @param atNs wall clock in ns since 1970
     */
    public record Noted(ErrorCode code, long atNs) {}

    /** Notes an outcome. Does not throw. */
    public synchronized void note(long id, ErrorCode code) {
        if (closed) {
            return;
        }
        try {
            if (channel == null) {
                open();
            }
            ByteBuffer entry = OutcomesLayout.entry(id, host.clock().wallNs(), code.number());
            channel.write(entry, OutcomesLayout.offset(next));
            next = (next + 1) % OutcomesLayout.MAX;
        } catch (IOException | RuntimeException e) { // such as a full disk
            if (!failing) {
                failing = true;
                LOG.warn("{}: outcomes of calls without a response are not noted: {}", file, e.getMessage());
            }
        }
    }

    private void open() throws IOException {
        FileChannel opened = host.files().openOwn(file);
        try {
            ByteBuffer content = read(opened);
            if (OutcomesLayout.isKnown(content)) {
                next = nextOf(content);
            } else { // new, or of a version that this one does not know
                opened.truncate(0);
                opened.write(OutcomesLayout.header(), 0);
                next = 0;
            }
            channel = opened;
        } finally {
            if (channel == null) {
                opened.close();
            }
        }
    }

    private static ByteBuffer read(FileChannel from) throws IOException {
        ByteBuffer content = OutcomesLayout.allocate((int) Math.min(from.size(), OutcomesLayout.MAX_BYTES));
        for (int read = 0; read >= 0 && content.hasRemaining(); ) {
            read = from.read(content, content.position());
        }
        return content.flip();
    }

    /** Returns the entry behind the newest. */
    private static int nextOf(ByteBuffer content) {
        int entries = OutcomesLayout.entries(content);
        if (entries < OutcomesLayout.MAX) {
            return entries;
        }
        int newest = 0;
        for (int i = 1; i < entries; i++) {
            if (OutcomesLayout.wallNs(content, i) >= OutcomesLayout.wallNs(content, newest)) {
                newest = i;
            }
        }
        return (newest + 1) % OutcomesLayout.MAX;
    }

    @Override
    public synchronized void close() throws IOException {
        closed = true;
        if (channel != null) {
            channel.close();
            channel = null;
        }
    }

    /** Reader of the outcomes that a worker had noted when they were read. Immutable. */
    public static final class Reader {

        private static final long NONE = -1;

        private final Long2LongHashMap entries = new Long2LongHashMap(NONE);
        private final ByteBuffer content;
        private final long oldestNs; // Long.MIN_VALUE: all are there

        private Reader(ByteBuffer content) {
            this.content = content;
            boolean isFull = false;
            long oldest = Long.MAX_VALUE;
            if (OutcomesLayout.isKnown(content)) {
                int count = OutcomesLayout.entries(content);
                isFull = count == OutcomesLayout.MAX;
                for (int i = 0; i < count; i++) {
                    if (OutcomesLayout.isWhole(content, i)) {
                        oldest = Math.min(oldest, OutcomesLayout.wallNs(content, i));
                        add(i);
                    }
                }
            }
            oldestNs = isFull ? oldest : Long.MIN_VALUE;
        }

        /** Reads a worker's outcomes; none when it has noted none. */
        public static Reader of(Path worker, Host host) throws IOException {
            try {
                byte[] bytes = host.files().readSmall(OutcomesLayout.in(worker), OutcomesLayout.MAX_BYTES);
                return new Reader(
                        OutcomesLayout.allocate(bytes.length).put(bytes).flip());
            } catch (NoSuchFileException e) {
                return new Reader(OutcomesLayout.allocate(0));
            }
        }

        /** Adds an entry. For a call that was sent again, the last outcome counts. */
        private void add(int entry) {
            long id = OutcomesLayout.id(content, entry);
            long known = entries.get(id);
            if (known == NONE || OutcomesLayout.wallNs(content, (int) known) <= OutcomesLayout.wallNs(content, entry)) {
                entries.put(id, entry);
            }
        }

        /** Returns the outcome of a call; empty when its worker gave it none of its own. */
        public Optional<Noted> of(long id) {
            int entry = (int) entries.get(id);
            return entry == NONE
                    ? Optional.empty()
                    : Optional.of(new Noted(
                            ErrorCode.of(OutcomesLayout.code(content, entry)), OutcomesLayout.wallNs(content, entry)));
        }

        /** Returns whether the outcome of a call that was sent at this time is still here, if it was noted. */
        public boolean reachesTo(long sentNs) {
            return sentNs >= oldestNs;
        }
    }
}
