package io.waybill.replay;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.Message;
import io.waybill.api.MessageId;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.handler.Outbox;
import io.waybill.host.Host;
import io.waybill.query.MessageFilter;
import io.waybill.replay.compare.ReplayedCall;
import io.waybill.replay.recording.HomeRecording;
import io.waybill.replay.slice.Payloads;
import io.waybill.replay.slice.SliceWriter;
import io.waybill.worker.Worker;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Handlers that remember: what a selection brings along, and what can't be known of their state. */
@Timeout(120)
class StatefulReplayTest {

    private static final int CALLS = 20;

    @TempDir
    private Path directory;

    /** Adds up what it is given, and responds with the sum, in a wrong way if it is told to. */
    private static final class Sum implements MessageHandler {
        private final Map<String, Long> sums = new HashMap<>();
        private final long wrongFrom;

        Sum(long wrongFrom) {
            this.wrongFrom = wrongFrom;
        }

        @Override
        public void handle(Message message, Outbox outbox) throws RejectedMessageException {
            long sum = sums.merge("all", message.int64("n"), Long::sum);
            outbox.response().int64("sum", sum >= wrongFrom ? -sum : sum);
        }
    }

    private static ReplayScenario summing(long wrongFrom) {
        return new ReplayScenario().handlesFromScratch("b", "math.sum", () -> new Sum(wrongFrom));
    }

    private static ReplayScenario summing() {
        return summing(Long.MAX_VALUE);
    }

    private static long add(Worker caller, long n) {
        Request request = Request.operation("b", "math.sum");
        request.body().int64("n", n);
        try (Response response = caller.call(request)) {
            return response.int64("sum");
        }
    }

    private Path recorded() throws Exception {
        return summing().record(directory, caller -> {
            for (int n = 1; n <= CALLS; n++) {
                add(caller, n);
            }
        });
    }

    private static List<String> shown(Replay replay) throws IOException {
        List<String> shown = new ArrayList<>();
        replay.run(call -> {
            ReplayedCall.Result result = call.results().get(0);
            shown.add(MessageId.counter(call.call().id()) + " " + result.verdict() + " " + result.reason());
        });
        return shown;
    }

    private static MessageFilter only(Path home, int number) throws IOException {
        try (HomeRecording recording = HomeRecording.open(home, Host.real())) {
            long id = RecordedHome.handled(recording, "b", MessageFilter.ALL)
                    .get(number - 1)
                    .id();
            return new MessageFilter.Builder().ids(id, id).build();
        }
    }

    @Test
    void aSelectedCallFindsWhatEarlierCallsLeft() throws Exception {
        Path home = recorded();
        ReplayReport report = summing().replay(home).select(only(home, 15)).run();
        assertThat(report.isAllSame()).as("%s", report).isTrue();
        assertThat(report.calls()).as("calls that are reported").isOne();
        assertThat(report.brought()).as("calls that ran for their state").isEqualTo(14);
    }

    @Test
    void aSelectedCallGivesWhatTheReportOfAllSaid() throws Exception {
        Path home = recorded();
        List<String> all = shown(summing(50).replay(home));
        assertThat(all)
                .filteredOn(line -> line.contains(" DIFFERENT reply.sum: recorded "))
                .hasSize(11);
        for (int number : List.of(1, 9, 10, 11, CALLS)) {
            assertThat(shown(summing(50).replay(home).select(only(home, number))))
                    .containsExactly(all.get(number - 1));
        }
    }

    /** A second run would have left another state for the calls behind it. */
    @Test
    void aDifferenceLeavesTheStateToTheNextCalls() throws Exception {
        Path home = recorded();
        assertThat(shown(summing(200).replay(home)))
                .filteredOn(line -> line.contains("DIFFERENT"))
                .singleElement()
                .asString()
                .endsWith("DIFFERENT reply.sum: recorded 210, replayed -210");
    }

    @Test
    void saysThatACallWasRunAloneOrTwice() throws Exception {
        Path home = recorded();
        assertThat(shown(summing().replay(home).select(only(home, 15)).alone()))
                .singleElement()
                .asString()
                .contains("NOT_REPLAYABLE its handler may remember earlier calls, in " + Sum.class.getName()
                        + ".sums, and 14 calls that its worker began before it were left out; its response:"
                        + " reply.sum: recorded 120, replayed 15");
        assertThat(shown(summing().replay(home).select(only(home, 15)).times(2)))
                .last()
                .asString()
                .contains("NOT_REPLAYABLE", ".sums, and this replay had run it before; its response: reply.sum");
    }

    @Test
    void saysThatEarlierCallsAreNotInASlice() throws Exception {
        Path home = recorded();
        Path slice = directory.resolve("late.slice");
        try (HomeRecording recording = HomeRecording.open(home, Host.real())) {
            SliceWriter.write(recording, only(home, CALLS), Payloads.FULL, slice, calls -> {});
        }
        assertThat(shown(summing().replay(slice)))
                .singleElement()
                .asString()
                .contains("NOT_REPLAYABLE", ", and 19 calls that its worker began before it are not on record here;");
    }

    @Test
    void saysThatAnEarlierCallCouldNotBeReplayed() throws Exception {
        CountDownLatch never = new CountDownLatch(1);
        Path home = recorded();
        ReplayScenario hanging = new ReplayScenario().handlesFromScratch("b", "math.sum", () -> new MessageHandler() {
            private final Sum sum = new Sum(Long.MAX_VALUE);

            @Override
            public void handle(Message message, Outbox outbox) throws RejectedMessageException {
                if (message.int64("n") == 3) {
                    awaitInVain(never);
                }
                sum.handle(message, outbox);
            }
        });
        try {
            List<String> shown = shown(hanging.replay(home).limit(java.time.Duration.ofMillis(300)));
            assertThat(shown.get(2)).contains("FAILED its handler did not return within 300 ms");
            assertThat(shown.subList(3, CALLS))
                    .allMatch(line -> line.contains("NOT_REPLAYABLE its handler may remember earlier calls, in ")
                            && line.contains(
                                    ", which began before it, could not be replayed; its response: reply.sum:"));
        } finally {
            never.countDown();
        }
    }

    private static void awaitInVain(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException("given up", e);
        }
    }

    /** What a handler reads for itself is not replayable, and touches neither other bundles nor a state that it does not have. */
    @Test
    void aCallThatCouldNotBeReplayedAffectsItsOwnBundleAlone() throws Exception {
        ReplayScenario recorded = asking(Long.MAX_VALUE);
        Path home = recorded.record(directory, caller -> {
            for (int n = 1; n <= 3; n++) {
                caller.call(Request.operation("b", "test.odd")).close();
                caller.call(Request.operation("b", "test.odd-state")).close();
                add(caller, n);
            }
        });
        List<String> shown = shown(asking(1).replay(home));
        assertThat(shown)
                .filteredOn(line -> line.contains("NOT_REPLAYABLE its handler asked for the time at"))
                .hasSize(6);
        assertThat(shown)
                .filteredOn(line -> line.contains("reply.sum"))
                .hasSize(3)
                .allMatch(line -> line.contains(" DIFFERENT reply.sum: recorded "));
    }

    /** Handlers that ask for more of the clock than is on record when they are replayed. */
    private static ReplayScenario asking(long wrongFrom) {
        boolean isReplay = wrongFrom == 1;
        return summing(wrongFrom)
                .handles(
                        "b",
                        "test.odd",
                        (message, outbox) -> outbox.response()
                                .text("at", isReplay ? outbox.clock().instant().toString() : "never"))
                .handlesFromScratch("b", "test.odd-state", () -> new MessageHandler() {
                    private int seen;

                    @Override
                    public void handle(Message message, Outbox outbox) {
                        seen++;
                        outbox.response()
                                .text("at", isReplay ? outbox.clock().instant().toString() : "never");
                    }
                });
    }

    @Test
    void saysThatTheWorkerBeganAgain() throws Exception {
        ReplayScenario summing = summing();
        summing.record(directory, caller -> add(caller, 5));
        Path home =
                summing.record(directory, caller -> assertThat(add(caller, 7)).isEqualTo(7));
        assertThat(shown(summing().replay(home)))
                .last()
                .asString()
                .contains(
                        "NOT_REPLAYABLE",
                        ", and its worker had begun again before it, and the replayed handlers had not;");
    }

    @Test
    void handlersThatRememberNothingDifferWhateverIsMissing() throws Exception {
        Path home = recorded();
        ReplayScenario candidate = new ReplayScenario()
                .handles("b", "math.sum", (message, outbox) -> outbox.response().int64("sum", message.int64("n")));
        assertThat(shown(candidate.replay(home).select(only(home, 15)).alone()))
                .singleElement()
                .asString()
                .endsWith("DIFFERENT reply.sum: recorded 120, replayed 15");
    }
}
