package io.waybill.worker.upkeep;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.host.Host;
import io.waybill.host.WatchedSyncs;
import io.waybill.journal.JournalFullException;
import io.waybill.journal.JournalQueue;
import io.waybill.journal.JournalSettings;
import io.waybill.journal.Roll;
import io.waybill.journal.append.Journal;
import io.waybill.journal.append.JournalOpener;
import io.waybill.wire.MessageBuffer;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import jnr.constants.platform.Errno;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The pages that are loaded ahead of a queue's writer: how far, and only once each. */
@Timeout(60)
class PageToucherTest {

    private static final long BLOCK = 64 << 20;
    private static final JournalSettings SETTINGS = new JournalSettings(Roll.DAILY, BLOCK, 64 << 10, 32 << 20);
    private static final int PAGE = 4096;
    private static final long LEAST_AHEAD = 256 << 10;
    private static final int PAYLOAD = 60_000;

    @TempDir
    private Path directory;

    /** Range of positions in the file that the kernel was asked to load. */
    private record Range(long from, long to) {}

    private final List<Range> asked = new ArrayList<>();
    private Errno failure; // null for none
    private final Host host = WatchedSyncs.host(new WatchedSyncs.Watcher() {
        @Override
        public void beforeSync(Path file) {}

        @Override
        public int beforeAdvise(long address, long length) {
            long from = address - journal.touchable().baseAddress();
            asked.add(new Range(from, from + length));
            return failure == null ? 0 : failure.intValue();
        }
    });
    private Journal journal;
    private PageToucher toucher;

    @BeforeEach
    void open() throws Exception {
        Path queue = Files.createDirectory(JournalQueue.REQUESTS.in(directory));
        journal = JournalOpener.open(queue, SETTINGS, host.clock(), new FileSpace(host.files()));
        toucher = new PageToucher(journal, host.calls());
    }

    @AfterEach
    void close() {
        journal.close();
    }

    private void append(int records) throws JournalFullException {
        for (int i = 0; i < records; i++) {
            MessageBuffer record = new MessageBuffer();
            record.begin(MessageType.userRequest(0x42), MessageId.of(1, 1), 1, 1, PAYLOAD, 0)
                    .payload(new byte[PAYLOAD], 0, PAYLOAD);
            journal.append(record, host.clock().wallNs());
        }
        journal.topUp();
    }

    private void touch() {
        asked.clear();
        toucher.touch();
    }

    /** All pages between two positions were asked for, in order, and no others. */
    private void areLoaded(String when, long from, long to) {
        assertThat(asked).as("ranges that are loaded %s", when).isNotEmpty();
        long at = asked.get(0).from();
        assertThat(at).as("the first page that is loaded %s", when).isEqualTo(from & -PAGE);
        for (Range each : asked) {
            assertThat(each.from()).as("the begin of a range %s", when).isEqualTo(at);
            at = each.to();
        }
        assertThat(at).as("the end of what is loaded %s", when).isEqualTo(to & -PAGE);
    }

    @Test
    void nothingIsLoadedBeforeTheFirstRecord() {
        touch();
        assertThat(asked).as("ranges that are loaded").isEmpty();
    }

    @Test
    void thePagesBehindTheWriterAreLoadedOnce() throws Exception {
        append(1);
        long written = journal.writtenTo();
        touch();
        areLoaded("behind the first record", written, written + LEAST_AHEAD);
        touch();
        assertThat(asked).as("ranges that are loaded without another record").isEmpty();
        append(1);
        touch();
        areLoaded(
                "behind the second record",
                written + LEAST_AHEAD,
                journal.writtenTo() + Math.max(LEAST_AHEAD, 3 * (journal.writtenTo() - written)));
    }

    @Test
    void moreIsLoadedForAFasterWriter() throws Exception {
        append(1);
        touch();
        long before = journal.writtenTo();
        append(40);
        touch();
        long written = journal.writtenTo();
        areLoaded("for a fast writer", written, written + 3 * (written - before));
    }

    @Test
    void aWriterThatSlowsDownIsFollowedWithoutAGap() throws Exception {
        append(1);
        touch();
        append(40);
        touch();
        long loadedTo = asked.get(asked.size() - 1).to();
        append(1);
        touch();
        assertThat(asked)
                .as("ranges that are loaded while the last ones suffice")
                .isEmpty();
        long written = journal.writtenTo();
        while (written + LEAST_AHEAD < loadedTo + PAGE) {
            append(1);
            written = journal.writtenTo();
            toucher.touch();
        }
        assertThat(asked)
                .as("ranges that are loaded when the last ones are almost reached")
                .isNotEmpty();
        assertThat(asked.get(0).from()).as("the begin of what is loaded next").isEqualTo(loadedTo);
    }

    @Test
    void nothingIsLoadedBehindTheReserve() throws Exception {
        append(1);
        touch();
        append(80);
        for (int i = 0; i < 10; i++) {
            append(80);
            touch();
            assertThat(asked)
                    .as("ranges that are loaded, behind the disk space of %d bytes", space())
                    .allMatch(range -> range.to() <= space());
        }
    }

    private long space() {
        try {
            return host.files().allocatedBytes(journal.file());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Test
    void aKernelThatCanNotLoadPagesIsAskedOnce() throws Exception {
        failure = Errno.EINVAL;
        append(1);
        touch();
        assertThat(asked).as("attempts").hasSize(1);
        append(20);
        touch();
        assertThat(asked).as("attempts after that").isEmpty();
    }

    @Test
    void aFailureDoesNotEndTheLoading() throws Exception {
        failure = Errno.ENOMEM;
        append(1);
        touch();
        assertThat(asked).as("attempts").hasSize(1);
        failure = null;
        touch();
        assertThat(asked).as("attempts for the same pages").isEmpty();
        append(20);
        touch();
        assertThat(asked).as("ranges that are loaded afterwards").isNotEmpty();
    }
}
