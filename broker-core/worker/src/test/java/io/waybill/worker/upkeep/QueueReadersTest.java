package io.waybill.worker.upkeep;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.home.Home;
import io.waybill.home.Membership;
import io.waybill.home.Peer;
import io.waybill.home.PeerState;
import io.waybill.home.WorkerDirectory;
import io.waybill.home.WorkerRecord;
import io.waybill.home.WorkerState;
import io.waybill.home.cursor.CursorSlot;
import io.waybill.host.Boots;
import io.waybill.host.Host;
import io.waybill.host.ManualClock;
import io.waybill.journal.JournalQueue;
import io.waybill.journal.JournalSettings;
import io.waybill.journal.QueueFile;
import io.waybill.journal.Roll;
import io.waybill.journal.RollFile;
import io.waybill.worker.upkeep.QueueReaders.Need;
import io.waybill.worker.upkeep.QueueReaders.Which;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Which files a peer still needs, for each state of the peer and of its cursors. The queue has the files {@value #OLDEST} to {@value #NEWEST}. */
@Timeout(60)
class QueueReadersTest {

    private static final int OLDEST = 1;
    private static final int READ = 5;
    private static final int FINISHED = 3;
    private static final int NEWEST = 9;
    private static final Need NONE = Need.NONE;
    private static final Duration ABSENT = Duration.ofMinutes(10);
    private static final JournalSettings SETTINGS = JournalSettings.defaults();

    @TempDir
    private Path directory;

    private final ManualClock clock = new ManualClock();
    private final Host host = Host.real().withClock(clock);
    private Home home;
    private WorkerDirectory own;
    private WorkerDirectory reader;
    private QueueReaders readers;
    private Membership membership;

    @BeforeEach
    void join() throws IOException {
        home = Home.open(directory, host);
        own = home.join("own");
        membership = new Membership(home);
        readers = new QueueReaders(
                own, SETTINGS, ABSENT.toNanos(), () -> membership.members().all());
    }

    @AfterEach
    void leave() throws IOException {
        if (reader != null) {
            reader.close();
        }
        membership.close();
        own.close();
    }

    private void joinReader(Home of) throws IOException {
        reader = of.join("reader");
        own.cursors().slot(reader.id());
    }

    /** How far the reader has read both queues. */
    private CursorSlot read(int requests, int responses) throws IOException {
        CursorSlot slot = reader.cursors().slot(own.id());
        slot.incarnation(reader.epoch());
        slot.requestsIndex(position(requests));
        slot.responsesIndex(position(responses));
        return slot;
    }

    private static long position(int cycle) {
        return SETTINGS.roll().indexOf(cycle, 7);
    }

    /** Each was last written a second after the one before it, the first one when the clock began. */
    private List<QueueFile> files(JournalQueue queue) {
        return IntStream.rangeClosed(OLDEST, NEWEST)
                .mapToObj(cycle -> new QueueFile(
                        queue,
                        new RollFile(directory.resolve("of-" + cycle), Roll.MINUTELY, cycle),
                        1,
                        Duration.ofSeconds(cycle).toMillis()))
                .toList();
    }

    private Need need(JournalQueue queue, Which which) throws IOException {
        membership.refresh();
        readers.look();
        return readers.need(queue, files(queue), NEWEST, which);
    }

    private void assertNeeds(int requests, int responses, Which which) throws IOException {
        assertThat(need(JournalQueue.REQUESTS, which)).as("requests").isEqualTo(new Need(requests, "reader"));
        assertThat(need(JournalQueue.RESPONSES, which)).as("responses").isEqualTo(new Need(responses, "reader"));
    }

    private void assertNeedsNone(Which which) throws IOException {
        for (JournalQueue queue : JournalQueue.values()) {
            assertThat(need(queue, which)).as("need of %s", queue).isEqualTo(NONE);
        }
    }

    private PeerState state() throws IOException {
        membership.refresh();
        return found().state();
    }

    private Peer found() {
        return membership.members().find("reader").orElseThrow();
    }

    @Test
    void aPeerNeedsFromWhereItReads() throws IOException {
        joinReader(home);
        read(READ, READ + 1);
        assertNeeds(READ, READ + 1, Which.LIVE);
    }

    @Test
    void aPeerNeedsRequestsThatItHasReadAndNotFinished() throws IOException {
        joinReader(home);
        CursorSlot slot = read(READ, READ);
        slot.requestsCompletedBefore(position(FINISHED));
        assertNeeds(FINISHED, READ, Which.LIVE);
        slot.requestsCompletedBefore(position(READ));
        assertNeeds(READ, READ, Which.LIVE);
    }

    @Test
    void aPositionBeyondTheEndIsIgnored() throws IOException {
        clock.advance(Duration.ofSeconds(FINISHED - 1)); // it joins when this file is written
        joinReader(home);
        read(NEWEST + 1, NEWEST + 1);
        assertNeeds(FINISHED, FINISHED, Which.LIVE);
        read(NEWEST, NEWEST);
        assertNeeds(NEWEST, NEWEST, Which.LIVE);
    }

    @Test
    void aPeerWithoutAPositionNeedsRequestsSinceItJoined() throws IOException {
        clock.advance(Duration.ofSeconds(FINISHED - 1));
        joinReader(home);
        assertThat(need(JournalQueue.REQUESTS, Which.LIVE)).isEqualTo(new Need(FINISHED, "reader"));
        assertThat(need(JournalQueue.RESPONSES, Which.LIVE)).isEqualTo(NONE);
    }

    @Test
    void aPeerThatOnlyCallsNeedsResponsesAlone() throws IOException {
        joinReader(home);
        read(READ, READ);
        reader.publish(WorkerState.READY, List.of(), Map.of(WorkerRecord.ROLE, WorkerRecord.CALLS_ONLY));
        assertThat(need(JournalQueue.REQUESTS, Which.LIVE)).isEqualTo(NONE);
        assertThat(need(JournalQueue.RESPONSES, Which.LIVE)).isEqualTo(new Need(READ, "reader"));
    }

    @Test
    void aPositionOfAnEarlierIncarnationKeepsNoResponses() throws IOException {
        joinReader(home);
        read(READ, READ).incarnation(reader.epoch() + 1);
        assertThat(need(JournalQueue.REQUESTS, Which.LIVE)).isEqualTo(new Need(READ, "reader"));
        assertThat(need(JournalQueue.RESPONSES, Which.LIVE)).isEqualTo(NONE);
    }

    @Test
    void aPeerWithAnUnreadableRecordNeedsWhatItsCursorsSay() throws IOException {
        joinReader(home);
        read(READ, READ + 1);
        Files.writeString(reader.path().resolve(WorkerRecord.FILE), "{");
        assertThat(state()).isEqualTo(PeerState.UNREADABLE);
        assertNeeds(READ, READ + 1, Which.LIVE);
    }

    /** Its own system calls work: the table is at fault, and the peer would not find its position in it either. */
    @Test
    void aPeerWithADamagedTableNeedsRequestsSinceItJoined() throws IOException {
        clock.advance(Duration.ofSeconds(FINISHED - 1));
        joinReader(home);
        read(READ, READ);
        Files.writeString(reader.path().resolve("cursors"), "no table");
        assertThat(need(JournalQueue.REQUESTS, Which.LIVE)).isEqualTo(new Need(FINISHED, "reader"));
        assertThat(need(JournalQueue.RESPONSES, Which.LIVE)).isEqualTo(NONE);
    }

    @Test
    void aPeerThatThisWorkerNeverTalkedWithNeedsNothing() throws IOException {
        reader = home.join("reader");
        read(READ, READ);
        assertNeedsNone(Which.LIVE_AND_ABSENT);
    }

    @Test
    void aPeerThatLeftNeedsNothing() throws IOException {
        joinReader(home);
        read(READ, READ);
        reader.leave();
        assertThat(state()).isEqualTo(PeerState.LEFT);
        assertNeedsNone(Which.LIVE_AND_ABSENT);
    }

    @Test
    void aDeadPeerIsWaitedForAsLongAsTheSettingsSay() throws IOException {
        joinReader(Home.open(directory, Boots.in(host, "an earlier boot")));
        read(READ, READ);
        assertThat(state()).isEqualTo(PeerState.DEAD);
        assertNeedsNone(Which.LIVE);
        assertNeeds(READ, READ, Which.LIVE_AND_ABSENT);
        clock.advance(ABSENT.minusNanos(1));
        assertNeeds(READ, READ, Which.LIVE_AND_ABSENT);
        clock.advance(Duration.ofNanos(1));
        assertNeedsNone(Which.LIVE_AND_ABSENT);
    }

    @Test
    void aForgottenPeerNeedsNothing() throws IOException {
        joinReader(home);
        read(READ, READ);
        assertNeeds(READ, READ, Which.LIVE);
        home.forget(found());
        assertNeedsNone(Which.LIVE_AND_ABSENT);
    }

    /** This worker would read its responses to a peer's requests again after a crash. */
    @Test
    void itsOwnResponsesToAPeerAreNeeded() throws IOException {
        joinReader(home);
        read(READ, READ);
        own.cursors().slot(reader.id()).responsesFrom(position(FINISHED));
        assertNeeds(READ, FINISHED, Which.LIVE);
    }
}
