package io.waybill.worker.serve;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.ErrorCode;
import io.waybill.api.MessageId;
import io.waybill.handling.Delivered;
import io.waybill.handling.Failure;
import io.waybill.home.Home;
import io.waybill.home.WorkerDirectory;
import io.waybill.host.Boots;
import io.waybill.host.Host;
import io.waybill.wire.MessageBuffer;
import io.waybill.wire.RecordView;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Which requests are for an earlier incarnation of a worker, and which of them this one continues. */
@Timeout(60)
class PreviousIncarnationTest {

    private static final Duration SUCCEEDED = Duration.ofMinutes(10);

    private final MessageBuffer buffer = new MessageBuffer();
    private final RecordView request = new RecordView(buffer);

    @TempDir
    private Path path;

    private WorkerDirectory join(Host host) throws IOException {
        return Home.open(path, host).join("a");
    }

    private WorkerDirectory join() throws IOException {
        return join(Host.real());
    }

    /** A worker joins and leaves. */
    private void comeAndGo(Duration forSuccessor) throws IOException {
        join().leave(forSuccessor);
    }

    /** Returns a request to the incarnation with this epoch. */
    private RecordView to(long epoch) {
        buffer.begin(ServingRoom.TYPE, MessageId.of(7, 9), 7, 3, 0, 0).epoch(epoch);
        return request;
    }

    private RecordView to(long epoch, long deadlineNs) {
        to(epoch);
        buffer.deadlineNs(deadlineNs);
        return request;
    }

    @Test
    void aRequestIsForAnEarlierIncarnationUnlessItHasTheEpochOfThisOne() throws IOException {
        comeAndGo(Duration.ZERO);
        try (WorkerDirectory own = join()) {
            PreviousIncarnation earlier = PreviousIncarnation.of(own);
            assertThat(earlier.epoch()).as("epoch of the second incarnation").isEqualTo(2);
            assertThat(earlier.isFor(to(1))).as("of the first incarnation").isTrue();
            assertThat(earlier.isFor(to(2))).as("of this incarnation").isFalse();
        }
    }

    @Test
    void noEarlierIncarnationIsContinuedThatLeftWithoutASuccessor() throws IOException {
        comeAndGo(Duration.ZERO);
        try (WorkerDirectory own = join()) {
            PreviousIncarnation earlier = PreviousIncarnation.of(own);
            assertThat(earlier.isContinued(to(1))).as("a request to the first").isFalse();
            assertThat(earlier.isContinued(to(2))).as("a request to this one").isTrue();
        }
    }

    @Test
    void allIncarnationsAreContinuedThatLeftInOrderForASuccessor() throws IOException {
        comeAndGo(Duration.ZERO);
        comeAndGo(SUCCEEDED);
        comeAndGo(SUCCEEDED);
        try (WorkerDirectory own = join()) {
            PreviousIncarnation earlier = PreviousIncarnation.of(own);
            assertThat(earlier.isContinued(to(4))).as("this one").isTrue();
            assertThat(earlier.isContinued(to(3))).as("the last one").isTrue();
            assertThat(earlier.isContinued(to(2))).as("the one before").isTrue();
            assertThat(earlier.isContinued(to(1)))
                    .as("one that left without a successor")
                    .isFalse();
        }
    }

    @Test
    void anIncarnationThatIsStillToComeIsNotContinued() throws IOException {
        comeAndGo(SUCCEEDED);
        try (WorkerDirectory own = join()) {
            PreviousIncarnation earlier = PreviousIncarnation.of(own);
            assertThat(earlier.isFor(to(3)))
                    .as("whether its request is for another incarnation")
                    .isTrue();
            assertThat(earlier.isContinued(to(3))).as("whether it is continued").isFalse();
        }
    }

    /** Records have the low 32 bits of an epoch. */
    @Test
    void onlyTheRecordedBitsOfAnEpochCount() throws IOException {
        comeAndGo(SUCCEEDED);
        try (WorkerDirectory own = join()) {
            PreviousIncarnation earlier = PreviousIncarnation.of(own);
            assertThat(earlier.isFor(to((1L << 32) + 2)))
                    .as("for an earlier one")
                    .isFalse();
            assertThat(earlier.isContinued(to((1L << 32) + 1)))
                    .as("is continued")
                    .isTrue();
            assertThat(earlier.isContinued(to(0xffff_ffffL)))
                    .as("all bits are set")
                    .isFalse();
        }
    }

    @Test
    void theFirstIncarnationContinuesNone() throws IOException {
        try (WorkerDirectory own = join()) {
            PreviousIncarnation earlier = PreviousIncarnation.of(own);
            assertThat(earlier.epoch()).isEqualTo(1);
            assertThat(earlier.isFor(to(1))).isFalse();
            assertThat(earlier.isContinued(to(0))).as("a request to none").isFalse();
            assertThat(earlier.cursorsAreExact())
                    .as("whether the new cursors are exact")
                    .isTrue();
        }
    }

    @Test
    void aDeadlineOfAnEarlierBootMeansNothing() throws IOException {
        Host host = Host.real();
        join(Boots.in(host, "first")).leave();
        try (WorkerDirectory own = join(Boots.in(host, "second"))) {
            PreviousIncarnation earlier = PreviousIncarnation.of(own);
            assertThat(earlier.isFromEarlierBoot(to(1, 5)))
                    .as("with a deadline")
                    .isTrue();
            assertThat(earlier.isFromEarlierBoot(to(1, 0)))
                    .as("without a deadline")
                    .isFalse();
            assertThat(earlier.cursorsAreExact())
                    .as("whether cursors of the first boot are exact")
                    .isFalse();
        }
    }

    @Test
    void aDeadlineOfTheSameBootIsOnTheSameClock() throws IOException {
        Host host = Boots.in(Host.real(), "first");
        join(host).leave();
        try (WorkerDirectory own = join(host)) {
            PreviousIncarnation earlier = PreviousIncarnation.of(own);
            assertThat(earlier.isFromEarlierBoot(to(1, 5)))
                    .as("with a deadline")
                    .isFalse();
            assertThat(earlier.cursorsAreExact())
                    .as("whether the cursors are exact")
                    .isTrue();
        }
    }

    @ParameterizedTest(name = "delivered {0}")
    @EnumSource(Delivered.class)
    void theErrorOfALostRequestSaysWhetherItMayHaveBegun(Delivered delivered) throws IOException {
        comeAndGo(Duration.ZERO);
        try (WorkerDirectory own = join()) {
            Failure lost = PreviousIncarnation.of(own).lost(to(1), delivered);
            assertThat(lost.code()).isEqualTo(ErrorCode.WORKER_LOST);
            assertThat(lost.text())
                    .contains("call " + MessageId.text(MessageId.of(7, 9)))
                    .contains(
                            delivered == Delivered.AGAIN
                                    ? "may have begun it and did not respond"
                                    : "was sent to incarnation 1 of this worker, which did not begin it; this is incarnation 2");
        }
    }
}
