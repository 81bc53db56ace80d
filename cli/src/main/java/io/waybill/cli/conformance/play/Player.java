package io.waybill.cli.conformance.play;

import io.waybill.api.Caller;
import io.waybill.api.Invocation;
import io.waybill.api.MessageType;
import io.waybill.api.RRef;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.cli.conformance.format.Datum;
import io.waybill.cli.conformance.format.Fields;
import io.waybill.cli.conformance.format.FormatException;
import io.waybill.cli.conformance.format.Step;
import io.waybill.cli.conformance.format.Times;
import io.waybill.cli.conformance.format.Verb;
import io.waybill.tensor.HostMemory;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;

/**
 * Plays the steps of one case on one worker.
 *
 * <p><b>Threads.</b> One. <b>Ownership.</b> Owns what the steps gave names to; closing releases it.
 */
final class Player implements AutoCloseable {

    private static final String COUNTER = "i";
    private static final long MAX_TIMES = 1_000_000;

    private final Stage stage;
    private final TensorMaker tensors;
    private final Variables variables;
    private final ValueMaker maker;
    private final References references;
    private final Map<String, List<CompletableFuture<Response>>> sent = new HashMap<>();
    private final List<Response> kept = new ArrayList<>();

    /** @param inputs of the case */
    Player(Stage stage, HostMemory memory, Map<String, Datum> inputs) {
        this.stage = stage;
        this.references = new References(stage);
        this.tensors = new TensorMaker(memory);
        this.variables = new Variables(inputs);
        this.maker = new ValueMaker(tensors, variables);
    }

    /** Plays a step. Returns what went wrong; empty when all went as expected. */
    Optional<String> play(Step step) throws FormatException {
        long times = step.fields().whole("times", 1, 1, MAX_TIMES);
        List<Value> named = new ArrayList<>();
        for (long i = 0; i < times; i++) {
            variables.set(COUNTER, Value.of(i));
            Optional<String> wrong = once(step);
            if (times > 1 && step.verb() == Verb.REMOTE) {
                named.add(variables.find(step.fields().text("as"), maker::value));
                variables.set(step.fields().text("as"), new Value.Items(named));
            }
            if (wrong.isPresent()) {
                return times == 1 ? wrong : Optional.of("time " + i + ": " + wrong.get());
            }
        }
        return Optional.empty();
    }

    private Optional<String> once(Step step) throws FormatException {
        switch (step.verb()) {
            case CALL:
                return call(step);
            case SEND:
                return expected(step, outcome(() -> send(step)));
            case THEN:
                return then(step);
            case REMOTE:
                return expected(
                        step, named(step, outcome(() -> references.remote(call(step.fields()), step.fields()))));
            case OWN:
                return expected(
                        step,
                        named(
                                step,
                                outcome(() ->
                                        references.own(maker.value(step.fields().require("value"))))));
            case FETCH:
            case LOCAL_VALUE:
            case DESCRIBE:
            case RELEASE:
                return each(step);
            case SETTLE:
                return expected(step, outcome(() -> Value.of(stage.rpc().shutdown(step.within()))));
            case MEMBERS:
                return expected(step, outcome(stage::members));
            case WAIT:
                return await(step);
            case CHECK:
                return expected(
                        step,
                        named(step, new Outcome.Answer(maker.value(step.fields().require("value")))));
            case COUNTERS:
                return counters(step);
            case OPEN:
                stage.gates().open(step.fields().text("gate"));
                return Optional.empty();
            case REACHED:
                return reached(step);
            case JOIN:
                return expected(step, outcome(() -> stage.joinAgain(step.fields())));
            case SHUTDOWN:
                return expected(step, outcome(() -> {
                    stage.leave();
                    return Value.NONE;
                }));
            default:
                throw new FormatException("not for a worker: " + step.verb());
        }
    }

    /** Does something with a reference, or with each of a list. */
    private Optional<String> each(Step step) throws FormatException {
        Value given = maker.value(step.fields().require("ref"));
        List<Value> all = given instanceof Value.Items items ? items.values() : List.of(given);
        for (int i = 0; i < all.size(); i++) {
            variables.set(COUNTER, Value.of((long) i));
            if (!(all.get(i) instanceof Value.OfRRef reference)) {
                throw new FormatException("ref is a reference, not "
                        + step.fields().require("ref").described());
            }
            Optional<String> wrong = with(reference.value(), step);
            if (wrong.isPresent()) {
                return all.size() == 1 ? wrong : Optional.of("reference " + i + ": " + wrong.get());
            }
        }
        return Optional.empty();
    }

    private Optional<String> with(RRef reference, Step step) throws FormatException {
        switch (step.verb()) {
            case FETCH:
                return expected(step, named(step, outcome(() -> keep(References.fetch(reference, step.fields())))));
            case LOCAL_VALUE:
                return expected(step, named(step, outcome(() -> keep(reference.localValue()))));
            case DESCRIBE:
                return eventually(step, () -> References.description(reference));
            default:
                reference.close();
                return Optional.empty();
        }
    }

    private Value keep(Response response) {
        kept.add(response);
        return response.value();
    }

    private Optional<String> expected(Step step, Outcome outcome) throws FormatException {
        return Expectation.wrongWith(outcome, step.expectation(), maker);
    }

    private Outcome named(Step step, Outcome outcome) throws FormatException {
        if (step.fields().has("as") && outcome instanceof Outcome.Answer answer) {
            variables.set(step.fields().text("as"), answer.value());
        }
        return outcome;
    }

    /** Something that gives a value, or an error. */
    @FunctionalInterface
    private interface Doing {
        Value value() throws FormatException, IOException;
    }

    private static Outcome outcome(Doing doing) throws FormatException {
        try {
            return new Outcome.Answer(doing.value());
        } catch (RuntimeException | IOException e) {
            return Outcome.Failure.of(e);
        }
    }

    private Optional<String> call(Step step) throws FormatException {
        List<Response> open = new ArrayList<>();
        try {
            Outcome outcome = outcome(() -> {
                Response response = stage.caller().call(request(step.fields()));
                open.add(response);
                return response.value();
            });
            Optional<String> wrong = expected(step, named(step, outcome));
            if (step.fields().has("as")) {
                kept.addAll(open);
                open.clear();
            }
            return wrong;
        } finally {
            open.forEach(Response::close);
        }
    }

    /** What a step calls, without to whom. */
    private Invocation call(Fields fields) throws FormatException {
        return new Invocation(
                Target.of(fields.text("op")).name(),
                maker.values(fields.row("args")),
                maker.named(fields.object("kwargs")),
                mode(fields.text("mode", "direct")));
    }

    private Request request(Fields fields) throws FormatException {
        MessageType type = Target.of(fields.text("op")).type();
        Request request = Request.invocation(References.worker(fields), type, call(fields));
        return fields.has("timeout") ? request.timeout(Times.of(fields.require("timeout"))) : request;
    }

    private static Invocation.Mode mode(String text) throws FormatException {
        switch (text) {
            case "direct":
                return Invocation.Mode.DIRECT;
            case "async":
                return Invocation.Mode.ASYNC;
            default:
                throw new FormatException("a call's mode is direct or async, not " + text);
        }
    }

    private Value send(Step step) throws FormatException {
        Caller caller = stage.caller();
        String name = step.fields().text("as");
        sent.computeIfAbsent(name, key -> new ArrayList<>()).add(caller.callAsync(request(step.fields())));
        return Value.NONE;
    }

    private Optional<String> then(Step step) throws FormatException {
        List<List<Value>> calls = new ArrayList<>();
        for (Value call : maker.values(step.fields().row("calls"))) {
            if (!(call instanceof Value.Items items)) {
                throw new FormatException("a call is [worker, operation, arguments…]");
            }
            calls.add(items.values());
        }
        List<CompletableFuture<Response>> derived = new ArrayList<>();
        boolean failed = step.fields().truth("failed", false);
        for (CompletableFuture<Response> answer : sent(step.fields().text("for"))) {
            derived.add(
                    failed
                            ? afterFailure(answer, calls)
                            : answer.thenCompose(
                                    response -> NestedCalls.from(stage.caller(), response.value(), calls)));
        }
        sent.put(step.fields().text("as"), derived);
        return Optional.empty();
    }

    /** Goes on with the text of an error; a response that is none ends it. */
    private CompletableFuture<Response> afterFailure(CompletableFuture<Response> answer, List<List<Value>> calls) {
        return answer.handle((response, error) -> error == null
                        ? CompletableFuture.<Response>failedFuture(
                                new IllegalStateException("expected an error to go on with, found an answer"))
                        : NestedCalls.from(
                                stage.caller(),
                                Value.of(Outcome.Failure.of(cause(error)).text()),
                                calls))
                .thenCompose(next -> next);
    }

    private static Throwable cause(Throwable error) {
        return error instanceof CompletionException ? error.getCause() : error;
    }

    private List<CompletableFuture<Response>> sent(String name) throws FormatException {
        List<CompletableFuture<Response>> answers = sent.get(name);
        if (answers == null) {
            throw new FormatException("nothing was sent as '" + name + "'; there are " + sent.keySet());
        }
        return answers;
    }

    private Optional<String> await(Step step) throws FormatException {
        Datum names = step.fields().require("for");
        List<CompletableFuture<Response>> together = new ArrayList<>();
        for (Datum name : names instanceof Datum.Row row ? row.values() : List.of(names)) {
            if (!(name instanceof Datum.Text text)) {
                throw new FormatException("for names what was sent, not " + name.described());
            }
            List<CompletableFuture<Response>> answers = sent(text.value());
            if (step.fields().truth("together", false)) {
                together.addAll(answers);
                continue;
            }
            Optional<String> wrong = await(step, text.value(), answers);
            if (wrong.isPresent()) {
                return wrong;
            }
        }
        return together.isEmpty() ? Optional.empty() : awaitAll(step, together);
    }

    private Optional<String> await(Step step, String name, List<CompletableFuture<Response>> answers)
            throws FormatException {
        for (int i = 0; i < answers.size(); i++) {
            variables.set(COUNTER, Value.of((long) i));
            Outcome outcome = Outcome.of(answers.get(i), step.within(), this::keep);
            Optional<String> wrong = expected(step, named(step, outcome));
            if (wrong.isPresent()) {
                return Optional.of("answer " + i + " of '" + name + "': " + wrong.get());
            }
        }
        return Optional.empty();
    }

    private Optional<String> awaitAll(Step step, List<CompletableFuture<Response>> answers) throws FormatException {
        Outcome outcome = Outcome.of(
                Response.all(answers),
                step.within(),
                responses -> new Value.Items(responses.stream().map(this::keep).toList()));
        return expected(step, named(step, outcome));
    }

    private Optional<String> counters(Step step) throws FormatException {
        return eventually(step, stage::counters);
    }

    /** Looks until all is as expected, or the step's time is over. */
    private Optional<String> eventually(Step step, Doing doing) throws FormatException {
        long untilNs = stage.clock().monotonicNs() + step.within().toNanos();
        while (true) {
            Optional<String> wrong = expected(step, outcome(doing));
            if (wrong.isEmpty() || stage.clock().monotonicNs() > untilNs) {
                return wrong;
            }
            stage.pause();
        }
    }

    private Optional<String> reached(Step step) throws FormatException {
        String gate = step.fields().text("gate");
        int count = (int) step.fields().whole("count", 1, 1, Integer.MAX_VALUE);
        int found = stage.gates().awaitReached(gate, count, step.within().toNanos());
        return found >= count
                ? Optional.empty()
                : Optional.of("expected " + count + " to reach the gate " + gate + ", found " + found);
    }

    private static void drop(CompletableFuture<Response> answer) {
        answer.cancel(false);
        if (!answer.isCompletedExceptionally()) {
            answer.join().close();
        }
    }

    @Override
    public void close() {
        stage.gates().reset();
        sent.values().forEach(answers -> answers.forEach(Player::drop));
        kept.forEach(Response::close);
        kept.clear();
        references.close();
        tensors.close();
    }
}
