package io.waybill.foreign;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.ResponseListener;
import io.waybill.api.Value;
import io.waybill.api.policy.AccessPolicy;
import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.HandlerStatus;
import io.waybill.dispatch.ParkingSettings;
import io.waybill.dispatch.Provider;
import io.waybill.dispatch.StuckSettings;
import io.waybill.tensor.segment.TensorConfig;
import io.waybill.testing.core.Waits;
import io.waybill.worker.Worker;
import io.waybill.worker.WorkerSettings;
import io.waybill.worker.Workers;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;

/** Two workers that call each other, on which rows are run one after the other; other calls go on meanwhile. */
final class ForeignNode implements AutoCloseable {

    /** Who the failures are charged to. */
    static final Provider CULPRIT = new Provider("test-row.call", "1.0.0");
    /** The operation that a row calls, with a tensor. */
    static final String CALL = "row.call";
    /** The same, with a non-blocking handler. */
    static final String CALL_NOW = "row.call.now";
    /** The same, and it is refused by its handler. */
    static final String REFUSED = "row.refused";

    private static final WorkerSettings SETTINGS = Workers.SETTINGS.toBuilder()
            .devices(Workers.TOYS)
            .tensors(new TensorConfig(8 << 20, 64 << 20, 4096, 64 << 10))
            .stuck(new StuckSettings(Duration.ofMillis(50).toNanos(), 0, 1000))
            .build();
    private static final int BYTES = 100_000; // through a segment, whose lease has to come back
    private static final Duration DEADLINE = Duration.ofMillis(500);

    final Workers workers;
    final HandlerRegistry handlers;
    final HandlerRegistry callerHandlers;
    final Worker server;
    final Worker caller;
    private Row failed; // null while all rows went well

    ForeignNode(Path directory) throws IOException {
        workers = new Workers(directory);
        ParkingSettings parking =
                new ParkingSettings(1000, Duration.ofSeconds(5).toNanos());
        handlers = workers.registry(parking);
        callerHandlers = workers.registry(parking);
        server = workers.join("server", handlers, SETTINGS);
        caller = workers.join("caller", callerHandlers, SETTINGS);
        workers.handle(handlers, "others.echo", ForeignNode::echo);
        workers.handleOnPoller(handlers, "others.now", (message, outbox) -> outbox.respond(Value.of("on")));
    }

    static void echo(io.waybill.api.Message message, io.waybill.api.handler.Outbox outbox) {
        List<Tensor> tensors = message.tensors();
        tensors.forEach(tensor -> tensor.storage().retain());
        outbox.respond(ByteBuffer.allocate(1), tensors);
    }

    /** Returns a tensor of the caller, in a segment. */
    Tensor tensor(int content) {
        Tensor tensor = Tensor.contiguous(
                DType.UINT8, new long[] {BYTES}, caller.buffers().allocate(BYTES));
        tensor.storage().bytes(BYTES - 1, 1).put(0, (byte) content);
        return tensor;
    }

    /** Outcomes of the call of a row. */
    static class Outcomes implements ResponseListener {
        final AtomicInteger count = new AtomicInteger();
        volatile String last = "none";

        /** Makes the call. */
        void call(Worker caller, Request request) {
            caller.call(request, this);
        }

        @Override
        public void onResponse(Response response) {
            last = "a response";
            count.incrementAndGet();
        }

        @Override
        public void onFailure(CallException failure) {
            last = failure.code() + ": " + failure.getMessage();
            count.incrementAndGet();
        }
    }

    /**
     * Runs a row: makes its call, and checks what is promised.
     *
     * @param hangsOnItsOwn whether a culprit that hangs holds the program's thread, and the call with it
     */
    Outcomes run(Row row, Culprit culprit, String operation, Outcomes outcomes, boolean hangsOnItsOwn)
            throws Exception {
        return run(row, culprit, operation, tensor(7), outcomes, hangsOnItsOwn);
    }

    /** Runs a row with a tensor of its own, and releases it. */
    Outcomes run(Row row, Culprit culprit, String operation, Tensor tensor, Outcomes outcomes, boolean hangsOnItsOwn)
            throws Exception {
        Request request = Request.operation("server", operation).timeout(DEADLINE);
        request.body().tensor("t", tensor);
        assertThat(failed).as("a row before this one failed").isNull();
        failed = row; // until it is over: what it added may be left
        AtomicReference<Thread> program = new AtomicReference<>(begin(row, request, outcomes));
        boolean hangs = row.how() == Misbehaviour.HANG;
        try {
            Waits.until(() -> row + ": it misbehaves; its call has " + outcomes.last, () -> {
                boolean isTooLate = outcomes.count.get() > 0
                        && outcomes.last.startsWith(ErrorCode.TIMED_OUT.name())
                        && culprit.happened() == 0;
                if (isTooLate && !program.get().isAlive()) { // a busy machine did not begin it in time
                    outcomes.last = "none";
                    outcomes.count.set(0);
                    program.set(begin(row, request, outcomes));
                }
                return culprit.happened() > 0;
            });
            if (!hangs || row.on() != AccessPolicy.class) { // which is asked about everything
                othersAreServed(row);
            }
            if (!hangs || !hangsOnItsOwn) {
                Waits.until(row + ": the call has an outcome", () -> outcomes.count.get() > 0);
            }
        } finally {
            culprit.letGo();
        }
        if (hangs
                && row.on() == AccessPolicy.class) { // its thread is on its way out, and others are refused until it is
            Waits.until(row + ": requests are served again", this::isServing);
        }
        Waits.until(row + ": the program goes on", () -> !program.get().isAlive());
        Waits.until(row + ": the call has an outcome", () -> outcomes.count.get() > 0);
        if (row.how() == Misbehaviour.CALLS_AFTER_END) {
            useKept(row, culprit);
        }
        try {
            tensor.storage().release();
        } catch (RuntimeException | StackOverflowError e) { // the culprit has, or it is the culprit's
            assertThat(row.how() == Misbehaviour.RELEASES_TWICE || row.on() == Storage.class)
                    .as("%s: the program gives its tensor back", row)
                    .isTrue();
        }
        othersAreServed(row);
        everythingIsBack(row);
        assertThat(outcomes.count.get()).as("%s: outcomes of the call", row).isEqualTo(1);
        failed = null;
        return outcomes;
    }

    private Thread begin(Row row, Request request, Outcomes outcomes) {
        Thread program = new Thread(() -> call(request, outcomes), "program of " + row);
        program.start();
        return program;
    }

    private void call(Request request, Outcomes outcomes) {
        try {
            outcomes.call(caller, request);
        } catch (RuntimeException | StackOverflowError e) { // before anything was sent
            outcomes.last = e.getClass().getName(); // its methods may throw, too
            outcomes.count.incrementAndGet();
        }
    }

    private void useKept(Row row, Culprit culprit) throws InterruptedException {
        Thread user = new Thread(
                () -> {
                    for (int i = 0; i < 20; i++) {
                        culprit.useKept();
                    }
                },
                "uses what it was given");
        user.start();
        for (int i = 0; i < 10; i++) {
            othersAreServed(row);
        }
        user.join(30_000);
        assertThat(user.isAlive()).as("%s: uses what was kept", row).isFalse();
    }

    /** Calls an operation with a tensor in a segment. */
    CompletableFuture<Response> callWithTensor(String operation) {
        Tensor tensor = tensor(42);
        Request request = Request.operation("server", operation).timeout(Duration.ofSeconds(20));
        request.body().tensor("t", tensor);
        CompletableFuture<Response> call = caller.callAsync(request);
        tensor.storage().release();
        return call;
    }

    /** Calls that have nothing to do with the row. Waited for by this thread alone: nothing of it polls. */
    void othersAreServed(Object row) {
        CompletableFuture<Response> echo = callWithTensor("others.echo");
        CompletableFuture<Response> now =
                caller.callAsync(Request.operation("server", "others.now").timeout(Duration.ofSeconds(20)));
        assertThat(echo)
                .as("%s: another call", row)
                .succeedsWithin(Duration.ofSeconds(25))
                .satisfies(response -> assertThat(response.tensors()
                                .get(0)
                                .storage()
                                .bytes(BYTES - 1, 1)
                                .get())
                        .as("%s: the tensor of another call", row)
                        .isEqualTo((byte) 42));
        assertThat(now)
                .as("%s: another call, of a non-blocking handler", row)
                .succeedsWithin(Duration.ofSeconds(25))
                .satisfies(response -> assertThat(response.value()).isEqualTo(Value.of("on")));
        echo.join().close();
        now.join().close();
    }

    private boolean isServing() {
        try {
            Request request = Request.operation("server", "others.now").timeout(Duration.ofSeconds(20));
            caller.callAsync(request).join().close();
            return true;
        } catch (CompletionException e) {
            return false;
        }
    }

    void everythingIsBack(Object row) {
        Waits.until(row + ": no request is in flight", () -> inFlight() == 0);
        Waits.until(row + ": no call is in flight", () -> caller.pendingCalls() == 0);
        for (Worker worker : List.of(server, caller)) {
            Waits.until(row + ": leases of " + worker.info() + " are back", () -> Workers.leases(worker) == 0);
        }
        assertThat(server.counters().damagedRecords() + caller.counters().damagedRecords())
                .as("%s: damaged records", row)
                .isZero();
    }

    private long inFlight() {
        return handlers.statuses().stream().mapToLong(HandlerStatus::inFlight).sum();
    }

    /** Checks that a failure was counted for its provider, and that one was not counted for what is no failure. */
    static void isCharged(Row row, HandlerRegistry registry, long before) {
        long now = registry.errors().of(CULPRIT.name());
        switch (row.how()) {
            case EXCEPTION, ERROR, UNREADABLE ->
                assertThat(now).as("%s: errors of its bundle", row).isGreaterThan(before);
            default -> assertThat(now).isGreaterThanOrEqualTo(before);
        }
    }

    @Override
    public void close() throws IOException {
        workers.close();
    }
}
