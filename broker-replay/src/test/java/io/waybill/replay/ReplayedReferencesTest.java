package io.waybill.replay;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.Invocation;
import io.waybill.api.Message;
import io.waybill.api.RRef;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.handler.Outbox;
import io.waybill.query.MessageFilter;
import io.waybill.replay.compare.Verdict;
import io.waybill.worker.Worker;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Remote references and their values in a replay. */
@Timeout(120)
class ReplayedReferencesTest {

    private static final Duration SOON = Duration.ofSeconds(20);

    @TempDir
    private Path directory;

    private static ReplayScenario scenario(long factor) {
        return new ReplayScenario()
                .handles("b", "SCRIPT_CALL", (message, outbox) -> response(message, outbox, factor))
                .handles("c", "SCRIPT_CALL", (message, outbox) -> response(message, outbox, factor));
    }

    private static void response(Message message, Outbox outbox, long factor) throws RejectedMessageException {
        List<Value> arguments = message.invocation().positional();
        switch (message.invocation().name()) {
            case "test::make" -> outbox.respond(Value.of(factor * number(arguments.get(0))));
            case "test::use" -> {
                try (Response value = reference(arguments.get(0)).localValue()) {
                    outbox.respond(Value.of(number(value.value()) + 1));
                }
            }
            case "test::fetch" -> {
                try (Response value = reference(arguments.get(0)).toHere(SOON)) {
                    outbox.respond(Value.of(number(value.value()) + 2));
                }
            }
            case "test::leave" -> {
                try (RRef own = outbox.rpc().rref(Value.of(factor + 3))) {
                    outbox.respond(Value.of(own));
                }
            }
            case "test::remote" -> {
                try (RRef there = outbox.rpc().remote("c", call("test::make", Value.of(5)), SOON);
                        Response value = there.toHere(SOON)) {
                    outbox.respond(Value.of(number(value.value()) + 4));
                }
            }
            case "test::self" -> {
                try (RRef here = outbox.rpc().remote("b", call("test::make", Value.of(8)), SOON);
                        Response value = here.toHere(SOON)) {
                    outbox.respond(Value.of(number(value.value()) + 7));
                }
            }
            case "test::more" -> {
                try (Response value = reference(arguments.get(0)).localValue()) {
                    outbox.respond(Value.of(2 * number(value.value())));
                }
            }
            case "test::pass" -> {
                RRef first = reference(arguments.get(0));
                try (RRef second = outbox.rpc().rref(Value.of(factor + 6));
                        Response one = outbox.rpc().rpcSync("c", call("test::fetch", Value.of(first)), SOON);
                        Response other = outbox.rpc().rpcSync("c", call("test::fetch", Value.of(second)), SOON)) {
                    outbox.respond(Value.list(one.value(), other.value()));
                }
            }
            default -> throw new IllegalArgumentException("no function");
        }
    }

    private static RRef reference(Value value) {
        return ((Value.OfRRef) value).value();
    }

    private static long number(Value value) {
        return ((Value.Int) value).value();
    }

    private static Invocation call(String name, Value... arguments) {
        return new Invocation(name, List.of(arguments), Map.of());
    }

    private static void play(Worker caller) {
        try (RRef made = caller.rpc().remote("b", call("test::make", Value.of(7)))) {
            made.toHere(SOON).close();
            for (String name : List.of("test::use", "test::fetch", "test::pass", "test::remote", "test::leave")) {
                List<Value> arguments =
                        List.of("test::remote", "test::leave").contains(name) ? List.of() : List.of(Value.of(made));
                try (Response response = caller.rpc().rpcSync("b", new Invocation(name, arguments, Map.of()), SOON)) {
                    if (name.equals("test::leave")) {
                        reference(response.value()).toHere(SOON).close();
                    }
                }
            }
            caller.rpc().rpcSync("c", call("test::fetch", Value.of(made)), SOON).close();
        }
    }

    private static Map<String, Verdict> verdicts(Replay replay) throws Exception {
        Map<String, Verdict> verdicts = new TreeMap<>();
        replay.run(call -> verdicts.merge(
                call.worker().name() + " " + call.operation(),
                call.results().get(0).verdict(),
                (before, now) -> before == Verdict.SAME ? now : before));
        return verdicts;
    }

    @Test
    void findsValuesThatEarlierRequestsMade() throws Exception {
        Path home = scenario(10).record(directory, ReplayedReferencesTest::play);
        List<String> notSame = new ArrayList<>();
        ReplayReport report = scenario(10)
                .replay(home)
                .run(call -> call.results().stream()
                        .filter(result -> result.verdict() != Verdict.SAME)
                        .forEach(result -> notSame.add(call.worker().name() + " " + call.operation() + " " + result)));
        assertThat(notSame).isEmpty();
        assertThat(report.isAllSame()).isTrue();
        assertThat(report.rows())
                .extracting(row -> row.worker().name() + " " + row.operation() + " " + row.count())
                .containsExactly(
                        "b SCRIPT_RREF_FETCH_CALL 5",
                        "b test::fetch 1",
                        "b test::leave 1",
                        "b test::make 1",
                        "b test::pass 1",
                        "b test::remote 1",
                        "b test::use 1",
                        "c SCRIPT_RREF_FETCH_CALL 1",
                        "c test::fetch 3",
                        "c test::make 1");
        assertThat(report.left()).isPositive();
    }

    @Test
    void bringsTheRequestAlongThatMadeAValue() throws Exception {
        Path home = scenario(10).record(directory, ReplayedReferencesTest::play);
        MessageFilter filter =
                new MessageFilter.Builder().operation("test::use").build();
        ReplayReport report = scenario(10).replay(home).select(filter).alone().run();
        assertThat(report.calls()).isEqualTo(1);
        assertThat(report.brought()).isEqualTo(1);
        assertThat(report.isAllSame()).as("%s", report).isTrue();
    }

    @Test
    void bringsAlongWhatTheRequestThatItBringsAlongNeeds() throws Exception {
        Path home = scenario(10).record(directory, caller -> {
            try (RRef made = caller.rpc().remote("b", call("test::make", Value.of(7)));
                    RRef more = caller.rpc().remote("b", call("test::more", Value.of(made)))) {
                caller.rpc()
                        .rpcSync("b", call("test::use", Value.of(more)), SOON)
                        .close();
            }
        });
        MessageFilter filter =
                new MessageFilter.Builder().operation("test::use").build();
        ReplayReport report = scenario(10).replay(home).select(filter).alone().run();
        assertThat(report.calls()).isEqualTo(1);
        assertThat(report.brought()).isEqualTo(2);
        assertThat(report.isAllSame()).as("%s", report).isTrue();
    }

    @Test
    void makesAValueThatAHandlerLeftWithItsOwnWorker() throws Exception {
        Path home = scenario(10)
                .record(
                        directory,
                        caller -> caller.rpc()
                                .rpcSync("b", call("test::self"), SOON)
                                .close());
        ReplayReport report = scenario(10).replay(home).run();
        assertThat(report.isAllSame()).as("%s", report).isTrue();
        assertThat(report.calls()).isEqualTo(2);
    }

    @Test
    void showsAnotherValueWhereItIsRead() throws Exception {
        Path home = scenario(10).record(directory, ReplayedReferencesTest::play);
        assertThat(verdicts(scenario(11).replay(home).worker("b")))
                .containsEntry("b test::make", Verdict.SAME) // its response is a name
                .containsEntry("b test::use", Verdict.DIFFERENT)
                .containsEntry("b test::remote", Verdict.SAME) // the value of another worker is the one on record
                .containsEntry("b SCRIPT_RREF_FETCH_CALL", Verdict.DIFFERENT);
    }

    @Test
    void saysThatAValueWasNotMadeByARequest() throws Exception {
        ReplayScenario scenario = scenario(10);
        Path home = scenario.record(directory, caller -> {
            try (RRef own = caller.rpc().rref(Value.of(1))) {
                caller.rpc()
                        .rpcSync("b", call("test::fetch", Value.of(own)), SOON)
                        .close();
            }
        });
        List<String> reasons = new ArrayList<>();
        scenario.replay(home)
                .worker("caller")
                .run(call -> call.results().forEach(result -> reasons.add(result.verdict() + " " + result.reason())));
        assertThat(reasons)
                .singleElement()
                .asString()
                .startsWith("NOT_REPLAYABLE no request on record made the value of");
    }
}
