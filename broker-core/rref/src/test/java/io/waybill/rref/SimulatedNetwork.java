package io.waybill.rref;

import static io.waybill.rref.SimulatedHome.MS;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.RejectedMessageException;
import io.waybill.rref.control.ControlMessage;
import io.waybill.rref.control.ControlOutcome;
import io.waybill.rref.id.ForkData;
import io.waybill.rref.status.Holder;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.BiConsumer;

/** What carries calls, responses and control messages: it delays, repeats, reorders, refuses and loses them. */
final class SimulatedNetwork {

    private final SimulatedHome home;

    SimulatedNetwork(SimulatedHome home) {
        this.home = home;
    }

    /** How a request may travel. */
    enum Delivery {
        ONCE,
        TWICE
    }

    // ---- requests

    /** Sends a call with references. It is delivered, in whatever time; or not sent, or lost, or told to be late. */
    void send(
            SimulatedCall call,
            List<ForkData> data,
            BiConsumer<SimulatedWorker, List<Reference>> body,
            Delivery delivery) {
        call.caller.calls.add(call);
        if (home.chance(3) || home.workers[call.target.worker()].self.epoch() != call.target.epoch()) {
            data.forEach(call.caller.references.forks()::abandon);
            call.fail(ErrorCode.BACK_PRESSURE, "not sent");
            return;
        }
        int fate = home.any(100);
        if (fate < 2 && data.isEmpty()) {
            home.time.in(home.delay() + 100 * MS, () -> call.fail(ErrorCode.TIMED_OUT, "lost"));
            return;
        }
        if (fate < 6) {
            home.time.in(home.delay(), () -> call.fail(ErrorCode.TIMED_OUT, "late"));
        }
        boolean refused = fate >= 6 && fate < 9;
        home.time.in(home.delay(), () -> deliver(call, data, refused, body));
        if (delivery == Delivery.TWICE) {
            home.time.in(home.delay(), () -> deliver(call, data, false, body));
        }
    }

    private void deliver(
            SimulatedCall call,
            List<ForkData> data,
            boolean refused,
            BiConsumer<SimulatedWorker, List<Reference>> body) {
        SimulatedWorker at = home.live(call.target);
        if (at == null || refused) {
            SimulatedWorker reader = home.workers[call.target.worker()];
            if (reader.alive) { // also a later incarnation reads what was sent to an earlier one, and begins nothing
                data.forEach(each -> reader.references.forks().decline(each, call.caller.self));
            }
            ErrorCode code = refused ? ErrorCode.MALFORMED_BODY : ErrorCode.WORKER_LOST;
            home.time.in(home.delay(), () -> call.fail(code, "not begun"));
            return;
        }
        if (data.isEmpty()) {
            body.accept(at, List.of());
            return;
        }
        Arrival arrival = at.references.forks().arrive(data, call.caller.self);
        at.references.forks().whenReady(arrival, failure -> ready(at, call, arrival, failure, body));
    }

    private void ready(
            SimulatedWorker at,
            SimulatedCall call,
            Arrival arrival,
            Optional<CallException> failure,
            BiConsumer<SimulatedWorker, List<Reference>> body) {
        if (!at.alive) {
            return;
        }
        if (failure.isPresent()) {
            at.references.forks().release(arrival);
            fail(at, call, failure.get());
            return;
        }
        keepSome(at, arrival);
        body.accept(at, arrival.references());
        releaseSoon(at, arrival);
    }

    /** A program keeps some of the references that it sees. */
    private void keepSome(SimulatedWorker at, Arrival arrival) {
        for (Reference reference : arrival.references()) {
            if (home.programsRun && at.hasRoom() && home.chance(60)) {
                at.references.retain(reference);
                at.handles.add(reference);
            }
        }
    }

    private void releaseSoon(SimulatedWorker at, Arrival arrival) {
        at.reading.add(arrival);
        home.time.in(home.delay(), () -> {
            at.reading.remove(arrival);
            if (at.alive) {
                at.references.forks().release(arrival);
            }
        });
    }

    // ---- responses

    void fail(SimulatedWorker at, SimulatedCall call, CallException failure) {
        if (at.alive) {
            home.time.in(home.delay(), () -> call.fail(failure));
        }
    }

    /** Responds with references that the worker has now, but for those that failed. It takes handles of its own until it is sent. */
    void respond(SimulatedWorker at, SimulatedCall call, List<Reference> with) {
        if (!at.alive) {
            return;
        }
        if (with.isEmpty()) {
            home.time.in(home.delay(), call::response);
            return;
        }
        List<Reference> put = new ArrayList<>();
        for (Reference each : with) {
            if (home.isUsable(at, each)) {
                at.references.retain(each);
                put.add(each);
            }
        }
        home.time.in(home.delay(), () -> sendResponse(at, call, put));
    }

    private void sendResponse(SimulatedWorker at, SimulatedCall call, List<Reference> put) {
        if (!at.alive) {
            return;
        }
        List<ForkData> forks = new ArrayList<>();
        boolean whole = true;
        for (Reference each : put) {
            try {
                forks.add(at.references.forks().fork(each, call.caller.self));
            } catch (CallException e) { // it failed meanwhile
                home.requireAllowed(each, e);
                whole = false;
            }
        }
        put.forEach(at.references::release);
        if (!whole || home.chance(3)) { // or there is no room for the response
            forks.forEach(at.references.forks()::abandon);
            home.time.in(100 * MS, () -> call.fail(ErrorCode.TIMED_OUT, "it was never responded to"));
            return;
        }
        home.time.in(home.delay(), () -> arrive(at.self, call, forks));
        if (home.chance(4)) {
            home.time.in(home.delay(), () -> arrive(at.self, call, forks));
        }
    }

    /** The caller reads a response: it may have given up, or have read the same before. */
    private void arrive(Holder from, SimulatedCall call, List<ForkData> forks) {
        SimulatedWorker caller = call.caller;
        if (!caller.alive) {
            return; // no later incarnation reads responses to an earlier one
        }
        if (call.isCompleted()) {
            home.late++;
            forks.forEach(each -> caller.references.forks().decline(each, from));
            return;
        }
        home.responded++;
        Arrival arrival = caller.references.forks().arrive(forks, from);
        call.response();
        keepSome(caller, arrival);
        releaseSoon(caller, arrival);
    }

    // ---- control messages

    /** A control message: the same bytes each time, lost or repeated at will, its acknowledgement too. */
    void control(SimulatedWorker from, ControlMessage message, int to, ControlOutcome outcome) {
        if (!from.alive) {
            return;
        }
        Holder target = from.known.get(to);
        if (target == null || home.workers[to].self.epoch() != target.epoch()) {
            outcome.failed(ErrorCode.WORKER_LOST, "down");
            return;
        }
        SimulatedCall call = new SimulatedCall(
                from, target, outcome::acknowledged, why -> outcome.failed(why.code(), why.getMessage()));
        from.calls.add(call);
        int fate = home.any(100);
        if (fate < 8) {
            home.time.in(home.delay(), () -> call.fail(ErrorCode.BACK_PRESSURE, "failed on purpose"));
            return;
        }
        if (fate < 14) {
            home.time.in(home.delay(), () -> call.fail(ErrorCode.TIMED_OUT, "late"));
        }
        home.time.in(home.delay(), () -> receive(call, message, outcome, true));
        if (home.chance(8)) {
            boolean responded = home.chance(50);
            home.time.in(home.delay(), () -> receive(call, message, outcome, responded));
        }
    }

    private void receive(SimulatedCall call, ControlMessage message, ControlOutcome outcome, boolean responded) {
        SimulatedWorker at = home.live(call.target);
        if (at == null) {
            home.time.in(home.delay(), () -> call.fail(ErrorCode.WORKER_LOST, "not begun"));
            return;
        }
        Optional<CallException> refused = at.references.receive(decoded(message), call.caller.self);
        if (responded) {
            refused.ifPresentOrElse(why -> fail(at, call, why), () -> respond(at, call, List.of()));
        }
        if (responded && home.chance(5) && refused.isEmpty()) { // a response that no caller waits for any more
            home.time.in(1000 * MS, () -> {
                if (call.caller.alive) {
                    outcome.acknowledged();
                }
            });
        }
    }

    private static ControlMessage decoded(ControlMessage message) {
        try {
            ByteBuffer bytes = message.payload();
            ControlMessage read = ControlMessage.decode(message.type(), bytes);
            if (!read.payload().equals(message.payload())) {
                throw new AssertionError("a message is not what it was: " + message);
            }
            return read;
        } catch (RejectedMessageException e) {
            throw new AssertionError(e);
        }
    }
}
