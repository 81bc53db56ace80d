package io.waybill.replay;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.tuple;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.Message;
import io.waybill.api.MessageId;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.handler.LateResponse;
import io.waybill.api.handler.Outbox;
import io.waybill.query.MessageFilter;
import io.waybill.replay.compare.ReplayedCall;
import io.waybill.replay.compare.Verdict;
import io.waybill.worker.Worker;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What real workers handled, handled again. */
@Timeout(120)
class ReplayTest {

    private static final Duration SHORT = Duration.ofSeconds(2);

    @TempDir
    private Path directory;

    /** What a handler without fields finds outside of itself. */
    private static long anything;

    private static void twice(Message message, Outbox outbox) throws RejectedMessageException {
        outbox.response().int64("twice", 2 * message.int64("n"));
    }

    private static Response ask(Worker caller, String to, String operation, long n) {
        Request request = Request.operation(to, operation);
        request.body().int64("n", n);
        return caller.call(request);
    }

    private static void askAll(Worker caller, int count) {
        for (int n = 0; n < count; n++) {
            ask(caller, "b", "math.twice", n).close();
        }
    }

    /** Every replayed call with its verdicts and reasons, in the order of the replay. */
    private static List<String> shown(Replay replay, List<ReplayReport> reports) throws IOException {
        List<String> shown = new ArrayList<>();
        reports.add(replay.run(call -> call.results()
                .forEach(result -> shown.add(MessageId.text(call.call().id()) + " " + call.operation() + " "
                        + result.candidate() + " " + result.verdict() + " " + result.reason()))));
        return shown;
    }

    private static List<ReplayedCall.Result> results(Replay replay) throws IOException {
        List<ReplayedCall.Result> results = new ArrayList<>();
        replay.run(call -> results.addAll(call.results()));
        return results;
    }

    @Test
    void givesTheSameResponsesWithTheSameHandlers() throws Exception {
        ReplayScenario scenario = new ReplayScenario()
                .handles("b", "math.twice", ReplayTest::twice)
                .handles("b", "math.refuse", (m, o) -> {
                    throw new RejectedMessageException(ErrorCode.REFUSED, "not " + m.int64("n"));
                });
        Path home = scenario.record(directory, caller -> {
            askAll(caller, 1000);
            assertThatThrownBy(() -> ask(caller, "b", "math.refuse", 3)).isInstanceOf(CallException.class);
        });
        ReplayReport report = scenario.replay(home).run();
        assertThat(report.problems()).isEmpty();
        assertThat(report.calls()).isEqualTo(1001);
        assertThat(report.rows())
                .extracting(row -> row.worker().name() + " " + row.operation() + " " + row.candidate() + " "
                        + row.verdict() + " " + row.count())
                .containsExactly("b math.refuse played SAME 1", "b math.twice played SAME 1000");
        assertThat(report.isAllSame()).isTrue();
    }

    /** After a boot of the host, counters of message ids begin far above those before. */
    @Test
    void runsEachCallOfACallerOnceThatReturnedAfterABoot() throws Exception {
        ReplayScenario scenario = new ReplayScenario().handles("b", "math.twice", ReplayTest::twice);
        Path home = null;
        for (int incarnation = 1; incarnation <= 2; incarnation++) {
            home = scenario.record(directory, caller -> {
                askAll(caller, 3);
                assertThatThrownBy(() -> ask(caller, "b", "math.unknown", 3)).isInstanceOf(CallException.class);
            });
            pretendABoot(home);
        }
        List<String> run = new ArrayList<>();
        scenario.replay(home).run(call -> run.add(MessageId.text(call.call().id()) + " " + call.operation()));
        assertThat(run).doesNotHaveDuplicates();
        assertThat(run.stream().filter(call -> call.endsWith(" math.twice"))).hasSize(6);
        assertThat(run.get(run.size() - 1))
                .as("an id of the second incarnation")
                .contains(".42949");
    }

    private static void pretendABoot(Path home) throws IOException {
        try (Stream<Path> files = Files.walk(home)) {
            for (Path mark : files.filter(file -> file.endsWith("boot")).toList()) {
                String other = Files.readString(mark).replaceFirst("boot=.*", "boot=" + UUID.randomUUID());
                Files.writeString(mark, other);
            }
        }
    }

    @Test
    void runsEachCallAsOftenAsIsWanted() throws Exception {
        ReplayScenario scenario = new ReplayScenario().handles("b", "math.twice", ReplayTest::twice);
        Path home = scenario.record(directory, caller -> askAll(caller, 2));
        List<Long> run = new ArrayList<>();
        ReplayReport report = scenario.replay(home)
                .times(3)
                .run(call -> run.add(MessageId.counter(call.call().id())));
        assertThat(run).hasSize(6).isSorted();
        assertThat(report.calls()).isEqualTo(6);
        assertThat(report.isAllSame()).isTrue();
        assertThatThrownBy(() -> Replay.of(home).times(0)).hasMessage("a request is run once or more: 0");
    }

    @Test
    void namesTheCallWithADifferentResponse() throws Exception {
        Path home = new ReplayScenario()
                .handles("b", "math.twice", ReplayTest::twice)
                .record(directory, caller -> askAll(caller, 700));
        ReplayScenario candidate = new ReplayScenario().handles("b", "math.twice", (message, outbox) -> {
            long n = message.int64("n");
            outbox.response().int64("twice", n == 421 ? 843 : 2 * n);
        });
        List<String> different = new ArrayList<>();
        ReplayReport report = candidate.replay(home).run(call -> {
            if (call.results().get(0).verdict() == Verdict.DIFFERENT) {
                different.add(MessageId.text(call.call().id()));
            }
        });
        assertThat(different).hasSize(1);
        assertThat(report.count(Verdict.DIFFERENT)).isEqualTo(1);
        assertThat(report.count(Verdict.SAME)).isEqualTo(699);
        assertThat(report.isAllSame()).isFalse();
    }

    @Test
    void showsSeveralCandidatesSideBySide() throws Exception {
        ReplayScenario same = new ReplayScenario().handles("b", "math.twice", ReplayTest::twice);
        ReplayScenario other = new ReplayScenario()
                .handles(
                        "b",
                        "math.twice",
                        (message, outbox) -> outbox.response().int64("twice", 0));
        Path home = same.record(
                directory, caller -> ask(caller, "b", "math.twice", 4).close());
        List<ReplayedCall.Result> results =
                results(Replay.of(home).with("same", same).with("other", other).with("none", new ReplayScenario()));
        assertThat(results)
                .extracting(ReplayedCall.Result::candidate, ReplayedCall.Result::verdict)
                .containsExactly(
                        tuple("same", Verdict.SAME), tuple("other", Verdict.DIFFERENT), tuple("none", Verdict.FAILED));
        assertThat(results.get(2).reason()).isEqualTo("there is no handler for math.twice");
    }

    @Test
    void distinguishesCandidatesOfOneName() throws Exception {
        ReplayScenario scenario = new ReplayScenario().handles("b", "math.twice", ReplayTest::twice);
        Path home = scenario.record(
                directory, caller -> ask(caller, "b", "math.twice", 4).close());
        assertThat(results(Replay.of(home)
                        .with("played", scenario)
                        .with("played", scenario)
                        .with("played", scenario)))
                .extracting(ReplayedCall.Result::candidate)
                .containsExactly("played", "played (2)", "played (3)");
    }

    @Test
    void comparesWhatHandlersThrow() throws Exception {
        Path home = new ReplayScenario()
                .handles("b", "math.twice", (message, outbox) -> {
                    throw new IllegalStateException("as recorded");
                })
                .record(
                        directory,
                        caller -> assertThatThrownBy(() -> ask(caller, "b", "math.twice", 1))
                                .isInstanceOf(CallException.class));
        assertThat(results(new ReplayScenario()
                        .handles("b", "math.twice", (message, outbox) -> {
                            throw new IllegalStateException("as recorded");
                        })
                        .replay(home)))
                .extracting(ReplayedCall.Result::verdict)
                .containsExactly(Verdict.SAME);
        assertThat(results(new ReplayScenario()
                        .handles("b", "math.twice", (message, outbox) -> {
                            throw new IllegalStateException("otherwise");
                        })
                        .replay(home)))
                .extracting(ReplayedCall.Result::verdict)
                .containsExactly(Verdict.DIFFERENT);
    }

    /** b asks c twice, at once, and c asks d. */
    private static ReplayScenario threeDeep() {
        return new ReplayScenario()
                .handles("d", "math.twice", ReplayTest::twice)
                .handles("c", "math.more", (message, outbox) -> {
                    Request below = Request.operation("d", "math.twice");
                    below.body().int64("n", message.int64("n") + 1);
                    try (Response response = outbox.caller().call(below)) {
                        outbox.response().int64("more", response.int64("twice"));
                    }
                })
                .handles("b", "math.both", (message, outbox) -> {
                    List<CompletableFuture<Response>> responses = new ArrayList<>();
                    for (long n : List.of(message.int64("n"), message.int64("n") + 10)) {
                        Request below = Request.operation("c", "math.more");
                        below.body().int64("n", n);
                        responses.add(outbox.caller().callAsync(below));
                    }
                    long sum = 0;
                    for (CompletableFuture<Response> pending : responses) {
                        try (Response response = pending.join()) {
                            sum += response.int64("more");
                        }
                    }
                    outbox.response().int64("sum", sum);
                });
    }

    @Test
    void isTheSameEveryTimeForATreeOfCallsThreeWorkersDeep() throws Exception {
        ReplayScenario scenario = threeDeep();
        Path home = scenario.record(directory, caller -> {
            for (int n = 0; n < 20; n++) {
                ask(caller, "b", "math.both", n).close();
            }
        });
        List<ReplayReport> reports = new ArrayList<>();
        List<String> first = shown(scenario.replay(home), reports);
        assertThat(reports.get(0).isAllSame()).as("%s", reports.get(0)).isTrue();
        assertThat(first).hasSize(20 + 40 + 40);
        for (int i = 0; i < 99; i++) {
            assertThat(shown(scenario.replay(home), reports)).isEqualTo(first);
        }
        assertThat(reports).containsOnly(reports.get(0));
    }

    @Test
    void failsARequestThatAsksForSomethingElseAndNeverCallsALiveWorker() throws Exception {
        AtomicLong live = new AtomicLong();
        AtomicLong caught = new AtomicLong();
        ReplayScenario candidate = new ReplayScenario().handles("b", "math.both", (message, outbox) -> {
            Request other = Request.operation("c", "math.counted");
            other.body().int64("n", 1);
            try {
                outbox.caller().call(other);
            } catch (CallException e) {
                caught.incrementAndGet();
            }
            outbox.response().int64("sum", 28); // what is on record, whatever it heard
        });
        ReplayScenario scenario = threeDeep().handles("c", "math.counted", (message, outbox) -> {
            live.incrementAndGet();
            outbox.response();
        });
        scenario.record(directory, caller -> {
            assertThat(ask(caller, "b", "math.both", 1).int64("sum")).isEqualTo(28);
            List<ReplayedCall.Result> results =
                    results(candidate.replay(caller.directory().home().path()).worker("b"));
            assertThat(results).extracting(ReplayedCall.Result::verdict).containsExactly(Verdict.FAILED);
            assertThat(results.get(0).reason())
                    .contains("(c) for math.counted")
                    .contains("which is not on record")
                    .contains("was for math.more");
        });
        assertThat(caught).hasValue(1);
        assertThat(live).hasValue(0);
    }

    @Test
    void failsARequestThatAsksMoreThanIsOnRecord() throws Exception {
        ReplayScenario scenario = new ReplayScenario().handles("b", "math.twice", ReplayTest::twice);
        Path home = scenario.record(
                directory, caller -> ask(caller, "b", "math.twice", 1).close());
        ReplayScenario candidate = new ReplayScenario().handles("b", "math.twice", (message, outbox) -> {
            outbox.caller().call(Request.operation("b", "math.twice")).close();
            twice(message, outbox);
        });
        assertThat(results(candidate.replay(home)).get(0))
                .extracting(ReplayedCall.Result::verdict, ReplayedCall.Result::reason)
                .satisfies(shown -> {
                    assertThat(shown.get(0)).isEqualTo(Verdict.FAILED);
                    assertThat((String) shown.get(1)).endsWith("its handler made no further call then");
                });
    }

    @Test
    void waitsForDeferredResponses() throws Exception {
        ReplayScenario scenario = new ReplayScenario().handles("b", "math.twice", (message, outbox) -> {
            long n = message.int64("n");
            LateResponse response = outbox.later();
            CompletableFuture.runAsync(() -> {
                response.body().int64("twice", 2 * n);
                response.send();
            });
        });
        Path home = scenario.record(directory, caller -> askAll(caller, 50));
        assertThat(scenario.replay(home).run().count(Verdict.SAME)).isEqualTo(50);
    }

    @Test
    void goesOnBehindAResponseThatNeverComes() throws Exception {
        Path home = new ReplayScenario()
                .handles("b", "math.twice", ReplayTest::twice)
                .record(directory, caller -> askAll(caller, 5));
        ReplayScenario candidate = new ReplayScenario().handles("b", "math.twice", (message, outbox) -> {
            if (message.int64("n") == 2) {
                outbox.later();
            } else {
                twice(message, outbox);
            }
        });
        List<ReplayedCall.Result> results = results(candidate.replay(home).limit(SHORT));
        assertThat(results)
                .extracting(ReplayedCall.Result::verdict)
                .containsExactly(Verdict.SAME, Verdict.SAME, Verdict.FAILED, Verdict.SAME, Verdict.SAME);
        assertThat(results.get(2).reason()).isEqualTo("no response came within 2000 ms after its handler returned");
    }

    @Test
    void goesOnWithoutAHandlerThatDoesNotReturn() throws Exception {
        ReplayScenario same = new ReplayScenario().handles("b", "math.twice", ReplayTest::twice);
        Path home = same.record(directory, caller -> askAll(caller, 5));
        CountDownLatch never = new CountDownLatch(1);
        ReplayScenario candidate = new ReplayScenario().handles("b", "math.twice", (message, outbox) -> {
            if (message.int64("n") == 2) {
                awaitWhateverComes(never);
            }
            twice(message, outbox);
        });
        try {
            List<ReplayedCall.Result> results = results(
                    Replay.of(home).with("stuck", candidate).with("same", same).limit(SHORT));
            assertThat(results)
                    .extracting(ReplayedCall.Result::verdict)
                    .containsExactly(
                            Verdict.SAME,
                            Verdict.SAME,
                            Verdict.SAME,
                            Verdict.SAME,
                            Verdict.FAILED,
                            Verdict.SAME,
                            Verdict.SAME,
                            Verdict.SAME,
                            Verdict.SAME,
                            Verdict.SAME);
            assertThat(results.get(4).reason()).isEqualTo("its handler did not return within 2000 ms");
        } finally {
            never.countDown();
        }
    }

    private static void awaitWhateverComes(CountDownLatch latch) {
        boolean over = false;
        while (!over) {
            try {
                latch.await();
                over = true;
            } catch (InterruptedException e) {
                over = false; // a handler that does not even listen to that
            }
        }
    }

    @Test
    void saysOfAHandlerThatWaversThatItCanNotBeReplayed() throws Exception {
        anything = 1;
        ReplayScenario scenario = new ReplayScenario()
                .handles("b", "math.any", (message, outbox) -> outbox.response().int64("any", anything++));
        Path home = scenario.record(
                directory, caller -> ask(caller, "b", "math.any", 0).close());
        assertThat(results(scenario.replay(home)).get(0))
                .extracting(ReplayedCall.Result::verdict, ReplayedCall.Result::reason)
                .containsExactly(
                        Verdict.NOT_REPLAYABLE,
                        "two runs of it gave different responses; the first and the record:"
                                + " reply.any: recorded 1, replayed 2");
    }

    @Test
    void leavesOutWhatHasNoResponseOfAHandler() throws Exception {
        ReplayScenario scenario = new ReplayScenario().handles("b", "math.twice", ReplayTest::twice);
        Path home = scenario.record(directory, caller -> {
            askAll(caller, 1);
            assertThatThrownBy(() -> ask(caller, "b", "math.unknown", 1)).isInstanceOf(CallException.class);
        });
        ReplayReport report = scenario.replay(home).run();
        assertThat(report.count(Verdict.SAME)).isEqualTo(1);
        assertThat(report.rows().get(1).reasons().firstKey())
                .startsWith("the broker responded to it, and no handler: UNKNOWN_OPERATION");
    }

    @Test
    void replaysWhatIsSelected() throws Exception {
        ReplayScenario scenario = threeDeep();
        Path home = scenario.record(
                directory, caller -> ask(caller, "b", "math.both", 1).close());
        MessageFilter filter =
                new MessageFilter.Builder().operation("math.more").build();
        assertThat(scenario.replay(home).select(filter).run().rows())
                .extracting(ReplayReport.Row::operation)
                .containsExactly("math.more");
        assertThat(scenario.replay(home).worker("d").run().rows())
                .extracting(ReplayReport.Row::operation)
                .containsExactly("math.twice");
        assertThatThrownBy(() -> scenario.replay(home).worker("nobody").run())
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("no worker nobody is on record");
    }

    @Test
    void runsEachCallWhenThePaceSaysSo() throws Exception {
        ReplayScenario scenario = new ReplayScenario().handles("b", "math.twice", ReplayTest::twice);
        Path home = scenario.record(directory, caller -> askAll(caller, 3));
        List<String> steps = Collections.synchronizedList(new ArrayList<>());
        scenario.replay(home).pace(call -> steps.add("run")).run(call -> steps.add("seen"));
        assertThat(steps).hasSize(6).startsWith("run").endsWith("seen");
    }
}
