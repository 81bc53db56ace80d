package io.waybill.crash.history;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.importer.ClassFileImporter;
import io.waybill.crash.history.Event.Kind;
import io.waybill.crash.history.HandMadeHistory.Doc;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Collections;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

@Timeout(60)
class CheckerTest {

    @TempDir
    private Path directory;

    @Test
    void findsNothingWrongWithAGoodHistory() throws Exception {
        Checker.Verdict verdict = new HandMadeHistory().judge(directory);
        assertThat(verdict.problems().toString()).isEqualTo("{}");
        assertThat(verdict.calls()).as("acknowledged").isEqualTo(7);
        assertThat(verdict.outcomes()).isEqualTo(6);
        assertThat(verdict.unknown()).isZero();
        assertThat(verdict.runs()).isEqualTo(7);
        assertThat(verdict.records()).isEqualTo(16);
    }

    @ParameterizedTest(name = "{0}: {1}")
    @MethodSource("badHistories")
    void catches(Problem.Kind expected, String what, Consumer<HandMadeHistory> fault) throws Exception {
        HandMadeHistory history = new HandMadeHistory();
        fault.accept(history);
        assertThat(history.judge(directory).problems().kinds()).as(what).contains(expected);
    }

    static Stream<Arguments> badHistories() {
        return Stream.of(
                bad(Problem.Kind.JOURNAL_DAMAGED, "a flipped bit", h -> h.requests.get(2).flipAt = 110),
                bad(Problem.Kind.JOURNAL_DAMAGED, "a record of another worker", h -> h.responses.get(1).from = 7),
                bad(Problem.Kind.JOURNAL_DAMAGED, "a response among requests", h -> h.requests.get(1).type = 0x242),
                bad(Problem.Kind.RECORD_MISSING, "a hole in a queue", h -> h.responses.get(2).sequence = 9),
                bad(Problem.Kind.RECORD_MISSING, "a record twice", h -> h.responses.get(2).sequence = 1),
                bad(Problem.Kind.ID_REUSED, "an id of the first life in the second", CheckerTest::reuseId),
                bad(Problem.Kind.ID_REUSED, "an id out of order", h -> h.requests.get(2).id = 1L << 48),
                bad(Problem.Kind.ID_REUSED, "an id of another worker", h -> h.requests.get(0).id = 3L << 48),
                bad(Problem.Kind.REQUEST_UNKNOWN, "a request that nobody made", CheckerTest::makeUp),
                bad(
                        Problem.Kind.REQUEST_ALTERED,
                        "another payload than was sent",
                        h -> h.requests.get(0).payload[20]++),
                bad(Problem.Kind.REQUEST_ALTERED, "no deadline", h -> h.requests.get(0).deadlineMs = 0),
                bad(Problem.Kind.REQUEST_LOST, "an acknowledged request", h -> drop(h, h.requests.get(3))),
                bad(Problem.Kind.REQUEST_UNSERVED, "left by an earlier life", CheckerTest::dropLastResponse),
                bad(Problem.Kind.REFUSED_AND_WRITTEN, "a refused request", h -> refuseWritten(h)),
                bad(Problem.Kind.NO_OUTCOME, "a call of a caller that lived", h -> remove(h, Kind.OK)),
                bad(Problem.Kind.NO_OUTCOME, "calls that end with their caller", CheckerTest::waitInVain),
                bad(Problem.Kind.TWO_OUTCOMES, "a response twice", CheckerTest::reportTwice),
                bad(Problem.Kind.TWO_OUTCOMES, "a response after a timeout", CheckerTest::reportLate),
                bad(Problem.Kind.OUTCOME_UNKNOWN, "an outcome for nothing", CheckerTest::respondNothing),
                bad(Problem.Kind.NO_OUTCOME, "one that its caller could have claimed", h -> remove(h, Kind.CLAIMED)),
                bad(Problem.Kind.CLAIM_DENIED, "a response on record", CheckerTest::denyClaim),
                bad(Problem.Kind.TWO_OUTCOMES, "another one by a claim", CheckerTest::claimAnother),
                bad(Problem.Kind.RESPONSE_ALTERED, "a claim that gives another's response", CheckerTest::alterClaim),
                bad(Problem.Kind.FAILURE_UNEXPECTED, "an error nobody can explain", h -> failWith(h, 2005)),
                bad(Problem.Kind.LOST_TOO_EARLY, "a server that goes on", h -> failWith(h, 2004)),
                bad(Problem.Kind.LOST_TOO_LATE, "half a minute later", CheckerTest::reportLossLate),
                bad(Problem.Kind.TIMED_OUT_TOO_EARLY, "before the deadline", CheckerTest::timeOutEarly),
                bad(Problem.Kind.RAN_TWICE, "in one life", h -> runAgain(h, HandMadeHistory.FIRST_SERVER)),
                bad(Problem.Kind.RAN_TWICE, "in the next life", h -> runAgain(h, HandMadeHistory.SECOND_SERVER)),
                bad(Problem.Kind.RAN_IN_OTHER_INCARNATION, "though told lost", CheckerTest::runLost),
                bad(Problem.Kind.RAN_TWICE, "though not told of it", h -> runAgain(h, false)),
                bad(Problem.Kind.RAN_UNASKED, "before it was in the journal", h -> drop(h, h.requests.get(1))),
                bad(Problem.Kind.RAN_TOO_LATE, "behind the deadlines", CheckerTest::runExpired),
                bad(Problem.Kind.OUT_OF_ORDER, "one before the other", CheckerTest::swapRuns),
                bad(Problem.Kind.OUT_OF_ORDER, "begun behind a later one", h -> h.responses.get(1).handlerSequence = 4),
                bad(Problem.Kind.RESPONSE_UNASKED, "without a run", CheckerTest::responseWithoutRun),
                bad(Problem.Kind.TWO_RESPONSES, "one appended twice", h -> h.responses.add(h.responses.get(4))),
                bad(Problem.Kind.RESPONSE_MISSING, "a response that no journal has", h -> h.responses.remove(0)),
                bad(Problem.Kind.RESPONSE_ALTERED, "another's payload", CheckerTest::swapPayloads));
    }

    private static Arguments bad(Problem.Kind kind, String what, Consumer<HandMadeHistory> fault) {
        return Arguments.of(kind, what, fault);
    }

    private static void reuseId(HandMadeHistory history) {
        Event sent = history.event(HandMadeHistory.SECOND_CALLER, Kind.SENT);
        history.replace(
                HandMadeHistory.SECOND_CALLER,
                sent,
                new Event(Kind.SENT, 100, sent.digest(), history.requests.get(0).id, sent.atNs(), 0));
    }

    private static void makeUp(HandMadeHistory history) {
        Doc made = history.requests.get(history.requests.size() - 1);
        history.events(HandMadeHistory.SECOND_CALLER)
                .removeIf(event -> event.id() == made.id && event.kind() == Kind.SENT);
    }

    private static void drop(HandMadeHistory history, Doc request) {
        history.requests.remove(request);
    }

    private static void dropLastResponse(HandMadeHistory history) {
        history.responses.remove(history.responses.size() - 1);
    }

    private static void refuseWritten(HandMadeHistory history) {
        Event sent = history.event(HandMadeHistory.SECOND_CALLER, Kind.SENT);
        history.replace(HandMadeHistory.SECOND_CALLER, sent, new Event(Kind.REFUSED, 2001, 0, 0, sent.atNs(), 0));
    }

    private static void remove(HandMadeHistory history, Kind kind) {
        history.events(HandMadeHistory.SECOND_CALLER).remove(history.event(HandMadeHistory.SECOND_CALLER, kind));
    }

    private static Event claim(HandMadeHistory history) {
        return history.event(HandMadeHistory.SECOND_CALLER, Kind.CLAIMED);
    }

    private static void denyClaim(HandMadeHistory history) {
        Event claim = claim(history);
        history.replace(
                HandMadeHistory.SECOND_CALLER,
                claim,
                new Event(Kind.CLAIM_FAILED, 2004, 0, claim.id(), claim.atNs(), 0));
    }

    private static void claimAnother(HandMadeHistory history) {
        Event ok = history.event(HandMadeHistory.FIRST_CALLER, Kind.OK);
        history.log(
                HandMadeHistory.SECOND_CALLER,
                new Event(Kind.CLAIM_FAILED, 6, 0, ok.id(), claim(history).atNs(), 0));
    }

    private static void alterClaim(HandMadeHistory history) {
        Event claim = claim(history);
        history.replace(
                HandMadeHistory.SECOND_CALLER, claim, new Event(Kind.CLAIMED, 0, 7, claim.id(), claim.atNs(), 0));
    }

    @Test
    void letsAHandlerThatMayRunAgainRunInALaterIncarnation() throws Exception {
        HandMadeHistory history = new HandMadeHistory();
        runAgain(history, true);
        assertThat(history.judge(directory).problems().toString()).isEqualTo("{}");
    }

    /** The call that was lost with the server's first life, of a handler that runs at least once. */
    private static void runAgain(HandMadeHistory history, boolean notified) {
        Doc lost = history.requests.get(1);
        lost.type = HandMadeHistory.AGAIN;
        lost.flags = 4;
        history.log(
                HandMadeHistory.SECOND_SERVER,
                new Event(Kind.BEGUN, notified ? 1 : 0, lost.digest(), lost.id, 31_000_000, 0));
    }

    private static void waitInVain(HandMadeHistory history) {
        Event ended = history.event(HandMadeHistory.SECOND_CALLER, Kind.ENDED);
        history.replace(HandMadeHistory.SECOND_CALLER, ended, new Event(Kind.ENDED, 0, 0, 0, ended.atNs(), 3));
    }

    private static void reportTwice(HandMadeHistory history) {
        history.log(HandMadeHistory.FIRST_CALLER, history.event(HandMadeHistory.FIRST_CALLER, Kind.OK));
    }

    private static void reportLate(HandMadeHistory history) {
        Event timeout = history.event(HandMadeHistory.SECOND_CALLER, Kind.FAILED);
        Event late = history.events(HandMadeHistory.SECOND_SERVER).stream()
                .filter(event -> event.kind() == Kind.RESPONDED && event.id() == timeout.id())
                .findFirst()
                .orElseThrow();
        history.log(
                HandMadeHistory.SECOND_CALLER, new Event(Kind.OK, 0, late.digest(), late.id(), timeout.atNs() + 1, 0));
    }

    private static void respondNothing(HandMadeHistory history) {
        history.log(HandMadeHistory.SECOND_CALLER, new Event(Kind.OK, 0, 0, 1L << 48 | 77, 1, 0));
    }

    private static void failWith(HandMadeHistory history, int code) {
        Event ok = history.event(HandMadeHistory.SECOND_CALLER, Kind.OK);
        history.replace(HandMadeHistory.SECOND_CALLER, ok, new Event(Kind.FAILED, code, 0, ok.id(), ok.atNs(), 0));
    }

    private static void reportLossLate(HandMadeHistory history) {
        Event lost = history.event(HandMadeHistory.FIRST_CALLER, Kind.FAILED);
        history.replace(
                HandMadeHistory.FIRST_CALLER,
                lost,
                new Event(Kind.FAILED, lost.code(), 0, lost.id(), lost.atNs() + 30_000_000_000L, 0));
    }

    private static void timeOutEarly(HandMadeHistory history) {
        Event timeout = history.event(HandMadeHistory.SECOND_CALLER, Kind.FAILED);
        history.replace(
                HandMadeHistory.SECOND_CALLER,
                timeout,
                new Event(Kind.FAILED, 6, 0, timeout.id(), timeout.atNs() - 20_000_000, 0));
    }

    private static void runAgain(HandMadeHistory history, String server) {
        history.log(server, history.event(HandMadeHistory.FIRST_SERVER, Kind.BEGUN));
    }

    private static void runLost(HandMadeHistory history) {
        Event begun = history.events(HandMadeHistory.FIRST_SERVER).stream()
                .filter(event -> event.id() == history.requests.get(1).id)
                .findFirst()
                .orElseThrow();
        history.events(HandMadeHistory.FIRST_SERVER).remove(begun);
        history.log(HandMadeHistory.SECOND_SERVER, begun);
    }

    private static void runExpired(HandMadeHistory history) {
        for (int i = 0; i < 40; i++) { // each handler twice or more: what counts is how many begin late in a row
            history.log(
                    HandMadeHistory.SECOND_SERVER,
                    new Event(
                            Kind.BEGUN,
                            0,
                            history.requests.get(3).digest(),
                            history.requests.get(3).id,
                            60_000_000_000L,
                            0));
        }
    }

    private static void swapRuns(HandMadeHistory history) {
        history.requests.forEach(request -> request.type = HandMadeHistory.SERIAL);
        Collections.swap(history.events(HandMadeHistory.SECOND_SERVER), 1, 3);
    }

    private static void responseWithoutRun(HandMadeHistory history) {
        history.events(HandMadeHistory.FIRST_SERVER).removeIf(event -> event.id() == history.requests.get(0).id);
    }

    private static void swapPayloads(HandMadeHistory history) {
        byte[] payload = history.responses.get(0).payload;
        history.responses.get(0).payload = history.responses.get(1).payload;
        history.responses.get(1).payload = payload;
    }

    @Test
    void leavesOutWhatAKillCutOff() throws Exception {
        HandMadeHistory history = new HandMadeHistory();
        history.judge(directory);
        Path log = directory.resolve("logs").resolve(HandMadeHistory.FIRST_CALLER + ".events");
        int events = EventLog.read(log).size();
        Files.write(log, new byte[17], StandardOpenOption.APPEND);
        assertThat(EventLog.read(log)).hasSize(events);
    }

    @Test
    void sharesNoCodeWithTheBroker() {
        String here = CheckerTest.class.getPackageName();
        classes()
                .that()
                .resideInAPackage(here)
                .and()
                .haveSimpleNameNotEndingWith("Test")
                .and()
                .haveSimpleNameNotStartingWith("CheckerTest")
                .should()
                .onlyDependOnClassesThat()
                .resideInAnyPackage("java..", here)
                .check(new ClassFileImporter().importPackages(here));
    }
}
