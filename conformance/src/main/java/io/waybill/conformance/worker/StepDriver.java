package io.waybill.conformance.worker;

import com.fasterxml.jackson.databind.JsonNode;
import io.waybill.api.Invocation;
import io.waybill.api.RRef;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.conformance.cases.CaseFormatException;
import io.waybill.conformance.cases.CaseJson;
import io.waybill.conformance.cases.Step;
import io.waybill.conformance.cases.Verb;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;

/**
 * Runs the steps of one case on one worker. A method that runs a step returns what went wrong; empty when its result is
 * as expected.
 *
 * <p><b>Threads.</b> One. <b>Ownership.</b> Owns what the steps made or named; closing releases it.
 */
final class StepDriver implements AutoCloseable {

    private static final String COUNTER = "i";
    private static final int MAX_TIMES = 1_000_000;

    private final TestWorker worker;
    private final ValueMaker maker;
    private final AutogradSteps autograd; // null on workers of another kind, which lack the classes
    private final Map<String, List<CompletableFuture<Response>>> sent = new HashMap<>();
    private final List<Response> responses = new ArrayList<>();
    private final List<RRef> references = new ArrayList<>();

    /** @param inputs of the case */
    StepDriver(TestWorker worker, Map<String, JsonNode> inputs) {
        this.worker = worker;
        this.autograd = worker.autograd() == null ? null : new AutogradSteps(worker.autograd());
        this.maker = new ValueMaker(
                worker.newMemory(), inputs, autograd == null ? UnaryOperator.identity() : autograd::live);
    }

    Optional<String> run(Step step) {
        if (step.times() < 1 || step.times() > MAX_TIMES) {
            throw new CaseFormatException("times must be from 1 to " + MAX_TIMES + ", not " + step.times());
        }
        List<Value> named = new ArrayList<>();
        for (int i = 0; i < step.times(); i++) {
            maker.set(COUNTER, Value.of((long) i));
            Optional<String> wrong = once(step);
            if (step.times() > 1 && step.verb() == Verb.REMOTE) {
                named.add(maker.get(step.as()));
                maker.set(step.as(), new Value.Items(named));
            }
            if (wrong.isPresent()) {
                return prefixed(wrong, step.times(), "time " + i);
            }
        }
        return Optional.empty();
    }

    private static Optional<String> prefixed(Optional<String> wrong, int of, String location) {
        return of == 1 ? wrong : wrong.map(text -> location + ": " + text);
    }

    private Optional<String> once(Step step) {
        return switch (step.verb()) {
            case CALL -> call(step);
            case SEND -> check(step, StepOutcome.of(() -> send(step)));
            case THEN -> then(step);
            case WAIT -> await(step);
            case REMOTE -> expect(step, () -> opened(remote(step)));
            case OWN -> expect(step, () -> opened(worker.rpc().rref(maker.value(step.value()))));
            case FETCH, LOCAL_VALUE, DESCRIBE, RELEASE -> each(step);
            case SETTLE -> expect(step, () -> Value.of(worker.rpc().shutdown(step.within())));
            case MEMBERS -> expect(step, worker::members);
            case CHECK -> expect(step, () -> maker.value(step.value()));
            case COUNTERS -> eventually(step, worker::counters);
            case OPEN -> {
                worker.operations().gates().open(step.gate());
                yield Optional.empty();
            }
            case REACHED -> reached(step);
            case JOIN -> expect(step, () -> worker.joinAgain(step.name(), step.id()));
            case SHUTDOWN ->
                expect(step, () -> {
                    worker.leave();
                    return Value.NONE;
                });
            case CONTEXT, LEAVE, LOCAL, HOOK, BACKWARD, GRADIENTS ->
                expect(step, () -> autograd().run(step, maker));
            case RECORDED -> eventually(step, () -> autograd().run(step, maker));
            case KILL, RESTART -> throw new CaseFormatException("not for a worker: " + step.verb());
        };
    }

    private AutogradSteps autograd() {
        if (autograd == null) {
            throw new CaseFormatException("only a worker of the kind autograd has contexts");
        }
        return autograd;
    }

    /** Checks the outcome of an action, and names its value. */
    private Optional<String> expect(Step step, Callable<Value> action) {
        StepOutcome outcome = StepOutcome.of(action);
        if (step.as() != null && outcome instanceof StepOutcome.Result result) {
            maker.set(step.as(), result.value());
        }
        return check(step, outcome);
    }

    private Optional<String> check(Step step, StepOutcome outcome) {
        return Expectation.check(step.expect(), outcome, maker);
    }

    private Value keep(Response response) {
        responses.add(response);
        return response.value();
    }

    private Value opened(RRef reference) {
        references.add(reference);
        return Value.of(reference);
    }

    private Optional<String> call(Step step) {
        int before = responses.size();
        Optional<String> wrong = expect(step, () -> keep(worker.caller().call(request(step))));
        if (step.as() == null && responses.size() > before) {
            responses.remove(before).close();
        }
        return wrong;
    }

    private Request request(Step step) {
        Request request = CallChain.request(
                step.to().asText(), step.op(), maker.values(step.args()), maker.named(step.kwargs()), step.mode());
        return step.timeout() == null ? request : request.timeout(step.timeout());
    }

    private Value send(Step step) {
        sent.computeIfAbsent(step.as(), name -> new ArrayList<>())
                .add(worker.caller().callAsync(request(step)));
        return Value.NONE;
    }

    private RRef remote(Step step) {
        Invocation call = new Invocation(
                CallChain.name(step.op()), maker.values(step.args()), maker.named(step.kwargs()), step.mode());
        String to = step.to().asText();
        return step.timeout() == null
                ? worker.rpc().remote(to, call)
                : worker.rpc().remote(to, call, step.timeout());
    }

    /** Does something with a reference, or with each of a list. */
    private Optional<String> each(Step step) {
        Value given = maker.value(step.ref());
        List<Value> all = given instanceof Value.Items items ? items.values() : List.of(given);
        for (int i = 0; i < all.size(); i++) {
            maker.set(COUNTER, Value.of((long) i));
            if (!(all.get(i) instanceof Value.OfRRef reference)) {
                throw new CaseFormatException("ref must be a reference, not " + step.ref());
            }
            Optional<String> wrong = with(reference.value(), step);
            if (wrong.isPresent()) {
                return prefixed(wrong, all.size(), "reference " + i);
            }
        }
        return Optional.empty();
    }

    private Optional<String> with(RRef reference, Step step) {
        return switch (step.verb()) {
            case FETCH ->
                expect(
                        step,
                        () -> keep(step.timeout() == null ? reference.toHere() : reference.toHere(step.timeout())));
            case LOCAL_VALUE -> expect(step, () -> keep(reference.localValue()));
            case DESCRIBE -> eventually(step, () -> description(reference));
            default -> {
                reference.close();
                yield Optional.empty();
            }
        };
    }

    private static Value description(RRef reference) {
        Map<Value, Value> fields = new LinkedHashMap<>();
        fields.put(Value.of("owner"), Value.of((long) reference.owner()));
        fields.put(Value.of("is_owner"), Value.of(reference.isOwner()));
        fields.put(Value.of("confirmed"), Value.of(reference.confirmedByOwner()));
        return new Value.Dict(fields);
    }

    private Optional<String> then(Step step) {
        List<List<Value>> calls = new ArrayList<>();
        for (Value call : maker.values(step.calls())) {
            if (!(call instanceof Value.Items items)) {
                throw new CaseFormatException("a call is [worker, operation, arguments…]");
            }
            calls.add(items.values());
        }
        List<CompletableFuture<Response>> derived = new ArrayList<>();
        for (CompletableFuture<Response> each : sent(step.sent().asText())) {
            derived.add(each.handle((response, error) -> next(step, response, error, calls))
                    .thenCompose(next -> next));
        }
        sent.put(step.as(), derived);
        return Optional.empty();
    }

    /** Makes the calls with a response, or with the text of an error: whichever the step is for. */
    private CompletableFuture<Response> next(Step step, Response response, Throwable error, List<List<Value>> calls) {
        if (step.failed() && error != null) {
            Value text = Value.of(StepOutcome.Failure.of(error).text());
            return CallChain.start(worker.caller(), text, calls);
        } else if (step.failed()) {
            return CompletableFuture.failedFuture(
                    new IllegalStateException("expected an error to continue with, found a response"));
        }
        return error == null
                ? CallChain.start(worker.caller(), response.value(), calls)
                : CompletableFuture.failedFuture(error);
    }

    private List<CompletableFuture<Response>> sent(String name) {
        List<CompletableFuture<Response>> found = sent.get(name);
        if (found == null) {
            throw new CaseFormatException("nothing was sent as '" + name + "', expected one of " + sent.keySet());
        }
        return found;
    }

    private Optional<String> await(Step step) {
        List<CompletableFuture<Response>> together = new ArrayList<>();
        for (JsonNode name : CaseJson.oneOrMany(step.sent())) {
            List<CompletableFuture<Response>> futures = sent(name.asText());
            if (step.together()) {
                together.addAll(futures);
                continue;
            }
            for (int i = 0; i < futures.size(); i++) {
                maker.set(COUNTER, Value.of((long) i));
                CompletableFuture<Response> future = futures.get(i);
                Optional<String> wrong = expect(step, () -> keep(await(future, step)));
                if (wrong.isPresent()) {
                    return prefixed(wrong, 0, "response " + i + " of " + name);
                }
            }
        }
        return together.isEmpty()
                ? Optional.empty()
                : expect(
                        step,
                        () -> new Value.Items(await(Response.all(together), step).stream()
                                .map(this::keep)
                                .toList()));
    }

    private static <T> T await(CompletableFuture<T> future, Step step) throws Exception {
        return future.get(step.within().toNanos(), TimeUnit.NANOSECONDS);
    }

    /** Repeats an action until its value is as expected, or the step's time is over. */
    private Optional<String> eventually(Step step, Callable<Value> action) {
        long untilNs = worker.clock().monotonicNs() + step.within().toNanos();
        while (true) {
            Optional<String> wrong = expect(step, action);
            if (wrong.isEmpty() || worker.clock().monotonicNs() > untilNs) {
                return wrong;
            }
            worker.pause();
        }
    }

    private Optional<String> reached(Step step) {
        int found = worker.operations().gates().awaitReached(step.gate(), step.count(), step.within());
        return found >= step.count()
                ? Optional.empty()
                : Optional.of("expected " + step.count() + " calls at the gate " + step.gate() + ", found " + found);
    }

    private static void drop(CompletableFuture<Response> future) {
        future.cancel(false);
        if (!future.isCompletedExceptionally()) {
            future.join().close();
        }
    }

    @Override
    public void close() {
        worker.operations().gates().reset();
        sent.values().forEach(futures -> futures.forEach(StepDriver::drop));
        responses.forEach(Response::close);
        references.forEach(RRef::close);
        if (autograd != null) {
            autograd.close();
        }
        maker.close();
        worker.operations().reset();
    }
}
