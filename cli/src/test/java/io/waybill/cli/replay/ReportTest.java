package io.waybill.cli.replay;

import static io.waybill.cli.replay.ReplayedCalls.PS0;
import static io.waybill.cli.replay.ReplayedCalls.count;
import static io.waybill.cli.replay.ReplayedCalls.different;
import static io.waybill.cli.replay.ReplayedCalls.failed;
import static io.waybill.cli.replay.ReplayedCalls.notReplayable;
import static io.waybill.cli.replay.ReplayedCalls.same;
import static io.waybill.cli.replay.ReplayedCalls.unanswered;
import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.replay.ReplayReport;
import io.waybill.replay.ReplayReport.Row;
import io.waybill.replay.compare.ReplayedCall;
import io.waybill.replay.compare.Verdict;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What a replay prints. */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
class ReportTest {

    private static final String JAR = "word-count-1.1.0.jar";
    private static final String PARTING = "reply.words: recorded 6, replayed 7";

    private final StringWriter text = new StringWriter();
    private final PrintWriter out = new PrintWriter(text);
    private final StringWriter lines = new StringWriter();

    private NotSameCalls taken(int max, ReplayedCall... calls) {
        RepeatCommand again = new RepeatCommand(List.of("--home", "/tmp/a home", "--bundle", "/tmp/" + JAR));
        CallText reader = new CallText(id -> id == 3 ? "app" : "ps0", again::of);
        NotSameCalls taken = new NotSameCalls(reader, max, new PrintWriter(lines));
        for (ReplayedCall call : calls) {
            taken.accept(call);
        }
        return taken;
    }

    private static Row row(String candidate, Verdict verdict, long count, Map<String, Long> reasons) {
        return new Row(PS0, "text.count", candidate, verdict, count, new TreeMap<>(reasons));
    }

    private void print(ReplayReport report, NotSameCalls calls) {
        new ReportText(report, out).print("/tmp/a home", "byte by byte", calls);
    }

    @Test
    void countsAsUnknownWhatNoHandlerCouldBeComparedWith() {
        NotSameCalls calls = taken(
                20,
                count(1, "one", 2, same("installed", 2), same("candidate", 2)),
                count(2, "two", 2, same("installed", 2), notReplayable("candidate", "x")),
                count(3, "three", 2, notReplayable("installed", "x"), notReplayable("candidate", "x")),
                count(4, "four", 2, notReplayable("installed", "x"), different("candidate", 3, PARTING)),
                count(5, "five", 2, notReplayable("installed", "x"), failed("candidate", "error", "y")));
        assertThat(calls.replayed()).as("replayed").isEqualTo(5);
        assertThat(calls.count()).as("not the same").isEqualTo(4);
        assertThat(calls.unknown()).as("of these not known").isEqualTo(2);
    }

    @Test
    void saysThatAllAreTheSame() {
        ReplayReport report =
                new ReplayReport(List.of(row("installed", Verdict.SAME, 10_000, Map.of())), 10_000, 12, 1, List.of());
        print(report, taken(20, count(1, "to be", 2, same("installed", 2))));
        assertThat(text).hasToString("""
                Replay of the calls in /tmp/a home

                Each call was given to the handlers once more, and their response compared with the one on record, byte by byte.
                Calls of the handlers themselves got their responses from the record, too: nothing was sent.

                WORKER  OPERATION   HANDLERS   SAME   DIFFERENT  FAILED  NOT REPLAYABLE
                ps0     text.count  installed  10000  0          0       0

                same            they gave the response on record
                installed       the handlers that the worker itself had

                All 10000 calls gave the response on record. Left out: 12, which the broker itself responds to. Run besides: 1, for the \
                state and the values that they left.
                """);
        assertThat(lines.toString()).isEmpty();
    }

    @Test
    void listsWhatHandlersReadThatRespondedAlike() {
        Map<String, Long> readings = Map.of("its handler called X.now() at acme.A.b(A.java:1)", 7L);
        ReplayReport report =
                new ReplayReport(List.of(row("installed", Verdict.SAME, 9, readings)), 9, 0, 0, List.of());
        print(report, taken(20, count(1, "to be", 2, same("installed", 2))));
        assertThat(text.toString()).endsWith("""
                All 9 calls gave the response on record.

                The same although their handlers read what is not on record: 7
                    7 x ps0 text.count, installed, same: its handler called X.now() at acme.A.b(A.java:1)
                """);
    }

    @Test
    void showsACallThatGotAnotherResponse() {
        ReplayReport report = new ReplayReport(
                List.of(row(JAR, Verdict.SAME, 9_999, Map.of()), row(JAR, Verdict.DIFFERENT, 1, Map.of(PARTING, 1L))),
                10_000,
                0,
                0,
                List.of("3-app/requests/20261120-08.cq4: damaged at 4096"));
        print(report, taken(20, count(1041, "to be or not to be", 6, different(JAR, 7, PARTING))));
        assertThat(text).hasToString("""
                Replay of the calls in /tmp/a home

                Each call was given to the handlers once more, and their response compared with the one on record, byte by byte.
                Calls of the handlers themselves got their responses from the record, too: nothing was sent.

                WORKER  OPERATION   HANDLERS              SAME  DIFFERENT  FAILED  NOT REPLAYABLE
                ps0     text.count  word-count-1.1.0.jar  9999  1          0       0

                same            they gave the response on record
                different       they gave another response

                1 of 10000 calls did not give the response on record.

                1. Call 3.1041 from app to ps0: text.count(text='to be or not to be')
                    on record             {'words': 6}
                    word-count-1.1.0.jar  {'words': 7}
                                          different: reply.words: recorded 6, replayed 7
                    once more             waybill replay --home '/tmp/a home' --bundle /tmp/word-count-1.1.0.jar --id 3.1041
                Note: 3-app/requests/20261120-08.cq4: damaged at 4096
                """);
    }

    @Test
    void showsSeveralCandidatesOfACallTogether() {
        ReplayedCall call = count(
                1,
                "to be",
                2,
                same("a.jar", 2),
                failed("b.jar", "Error on Node 4: no store", "it called store, which is not on record"));
        ReplayReport report = new ReplayReport(
                List.of(
                        row("a.jar", Verdict.SAME, 1, Map.of()),
                        row("b.jar", Verdict.FAILED, 1, Map.of("it called store, which is not on record", 1L))),
                1,
                0,
                0,
                List.of());
        print(report, taken(20, call));
        assertThat(text.toString()).contains("""
                WORKER  OPERATION   HANDLERS  SAME  DIFFERENT  FAILED  NOT REPLAYABLE
                ps0     text.count  a.jar     1     0          0       0
                ps0     text.count  b.jar     0     0          1       0
                """, """
                1. Call 3.1 from app to ps0: text.count(text='to be')
                    on record  {'words': 2}
                    a.jar      {'words': 2}
                               same
                    b.jar      error HANDLER_FAILED: Error on Node 4: no store
                               failed: it called store, which is not on record
                """);
    }

    @Test
    void showsTheFirstOfManyAndWhatWasFoundMostOften() {
        ReplayedCall.Result late = notReplayable("installed", "no response on record");
        ReplayReport report = new ReplayReport(
                List.of(
                        row("installed", Verdict.DIFFERENT, 1, Map.of(PARTING, 1L)),
                        row("installed", Verdict.NOT_REPLAYABLE, 2, Map.of("no response on record", 2L))),
                3,
                0,
                0,
                List.of());
        print(
                report,
                taken(
                        1,
                        unanswered(1, "a", late),
                        unanswered(2, "b", late),
                        count(3, "c", 6, different("installed", 7, PARTING))));
        assertThat(text.toString()).contains("""
                1 of 1 calls did not give the response on record. 2 can't be replayed: nothing is known of these.

                Found most often:
                    2 x ps0 text.count, installed, not replayable: no response on record
                    1 x ps0 text.count, installed, different: reply.words: recorded 6, replayed 7

                The first of them:

                1. Call 3.1 from app to ps0: text.count(text='a')
                    on record  no response
                    installed  no response
                               not replayable: no response on record
                """).doesNotContain("2. Call");
        assertThat(lines.toString()).hasLineCount(3).contains("\"id\":\"3.1\"", "\"id\":\"3.2\"", "\"id\":\"3.3\"");
    }

    @Test
    void doesNotCountWhatCanNotBeReplayedAsAWrongResponse() {
        ReplayedCall.Result late = notReplayable("installed", "no response on record");
        ReplayReport report = new ReplayReport(
                List.of(
                        row("installed", Verdict.SAME, 4, Map.of()),
                        row("installed", Verdict.NOT_REPLAYABLE, 1, Map.of("no response on record", 1L))),
                5,
                0,
                0,
                List.of());
        print(report, taken(1, unanswered(1, "a", late)));
        assertThat(text.toString())
                .contains("All 4 calls gave the response on record. 1 can't be replayed: nothing is known of these.");

        text.getBuffer().setLength(0);
        print(
                new ReplayReport(
                        List.of(row("installed", Verdict.NOT_REPLAYABLE, 1, Map.of("no response on record", 1L))),
                        1,
                        0,
                        0,
                        List.of()),
                taken(1, unanswered(1, "a", late)));
        assertThat(text.toString()).contains("None of the 1 calls can be replayed.");
    }

    @Test
    void saysThatNothingWasSelected() {
        print(new ReplayReport(List.of(), 0, 3, 0, List.of()), taken(20));
        assertThat(text).hasToString("""
                Replay of the calls in /tmp/a home

                Nothing was replayed: no call on record is selected. Left out: 3, which the broker itself responds to.
                """);
    }

    @Test
    void writesALineOfJsonForEachCallThatIsNotTheSame() {
        taken(0, count(7, "to be or not to be", 6, different(JAR, 7, PARTING)));
        assertThat(lines).hasToString("""
                {"id":"3.7","from":"app","to":"ps0","operation":"text.count",\
                "request":"text.count(text='to be or not to be')","recorded":"{'words': 6}",\
                "results":[{"handlers":"word-count-1.1.0.jar","verdict":"different","replayed":"{'words': 7}",\
                "reason":"reply.words: recorded 6, replayed 7"}],\
                "again":"waybill replay --home '/tmp/a home' --bundle /tmp/word-count-1.1.0.jar --id 3.7"}
                """);
    }

    @Test
    void printsOneDocumentForPrograms() {
        ReplayReport report =
                new ReplayReport(List.of(row(JAR, Verdict.DIFFERENT, 1, Map.of(PARTING, 1L))), 1, 0, 0, List.of());
        ReportJson.print(report, taken(20, count(7, "to be", 6, different(JAR, 7, PARTING))), out);
        assertThat(text.toString().replaceAll("\\s+", ""))
                .startsWith("{\"all_same\":false,\"calls\":1,\"not_same_calls\":1,\"left_out\":0,\"brought_along\":0,")
                .contains("\"verdict\":\"different\",\"count\":1", "\"id\":\"3.7\"")
                .endsWith("\"problems\":[]}");
    }

    @Test
    void showsNoControlCharacters() {
        print(
                new ReplayReport(
                        List.of(row("installed", Verdict.DIFFERENT, 1, Map.of())), 1, 0, 0, List.of("a\u001b[31m")),
                taken(20, count(1, "\u001b[31m", 1, different("installed", 2, "reply: '\u001b[2J'"))));
        assertThat(text.toString()).doesNotContain("\u001b").contains("\\u001b[31m", "\\u001b[2J");
    }
}
