package io.waybill.journal.recover;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.MessageId;
import io.waybill.host.Host;
import io.waybill.host.ManualClock;
import io.waybill.journal.JournalQueue;
import io.waybill.journal.JournalSettings;
import io.waybill.journal.Roll;
import io.waybill.journal.UnreservedDisk;
import io.waybill.journal.read.LastRecord;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Which claims of how far a queue was written are believed, beside a last record that is there. */
@Timeout(60)
class QueueBeginningTest {

    private static final JournalSettings SETTINGS = JournalSettings.defaults();
    private static final Roll ROLL = SETTINGS.roll();
    private static final int WORKER = 3;
    private static final int CYCLE = 5;
    private static final int FAR = ROLL.maxNumbers() - 1;
    private static final long MANY = 1L << 50;
    private static final LastRecord LAST =
            new LastRecord(19, MessageId.of(WORKER, 19), ROLL.indexOf(CYCLE, 19), CYCLE, 4096);

    @TempDir
    private Path directory;

    private Path queue;

    @BeforeEach
    void make() throws IOException {
        queue = Files.createDirectories(JournalQueue.REQUESTS.in(directory));
    }

    private QueueBeginning reconciled(long nextCounter, QueueEvidence.Claim... claims) throws IOException {
        QueueBeginning beginning = QueueBeginning.find(
                queue,
                SETTINGS,
                Host.real().withClock(new ManualClock()),
                UnreservedDisk.by((file, offset, length) -> {}),
                1,
                -1,
                new QueueEvidence(List.of(claims), nextCounter, -1, List.of(), WORKER));
        beginning.reconcile(LAST);
        return beginning;
    }

    private static QueueEvidence.Claim claim(int cycle, long record, long nextSequence) {
        return new QueueEvidence.Claim("the witness", ROLL.indexOf(cycle, record), nextSequence);
    }

    @Test
    void believesThatMoreWasWritten() throws IOException {
        QueueBeginning beginning = reconciled(50, claim(CYCLE, 40, 40));
        assertThat(beginning.loss()).contains("the witness says that they reached to number 40");
        assertThat(beginning.firstCycle()).isGreaterThan(CYCLE);
        assertThat(beginning.firstCounter()).isGreaterThan(50);
    }

    @Test
    void takesTheFurthestOfClaims() throws IOException {
        QueueBeginning beginning = reconciled(50, claim(CYCLE, 30, 30), claim(CYCLE, 60, 60), claim(CYCLE, 45, 45));
        assertThat(beginning.loss()).contains("number 60 of");
    }

    @Test
    void believesNoClaimThatIsNotBeyondTheLastRecord() throws IOException {
        assertThat(reconciled(20, claim(CYCLE, 20, 20), claim(CYCLE - 1, 90, 90))
                        .loss())
                .isEmpty();
    }

    @Test
    void believesNoClaimBeyondWhatCanBeWritten() throws IOException {
        assertThat(reconciled(20, claim(FAR, 40, 40)).loss())
                .as("loss claimed by a position in a file of years to come")
                .isEmpty();
        assertThat(reconciled(20, claim(CYCLE, 40, MANY)).loss())
                .as("loss claimed with more records than can be")
                .isEmpty();
    }

    @Test
    void believesNoCounterBeyondWhatCanBeGiven() throws IOException {
        assertThat(reconciled(MANY, claim(CYCLE, 40, 40)).firstCounter())
                .as("the first counter beside a note of 0x%x", MANY)
                .isBetween(20L, MANY - 1);
    }
}
