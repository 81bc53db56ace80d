package io.waybill.rref;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.rref.control.ControlMessage;
import io.waybill.rref.control.ControlOutcome;
import io.waybill.rref.control.ControlRetries;
import io.waybill.rref.status.Holder;
import io.waybill.rref.status.ReferenceListener;
import io.waybill.rref.status.ReferenceStatus;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Three workers whose control messages wait until a test delivers, fails or forgets them, in one thread. */
final class Exchange {

    static final RRefSettings SETTINGS = new RRefSettings(
            Duration.ofSeconds(30),
            Duration.ofSeconds(20),
            Duration.ofMinutes(2),
            ControlRetries.DEFAULTS,
            Keeping.ON_REQUEST);

    /** A control message on its way. */
    record Sent(int from, int to, ControlMessage message, ControlOutcome outcome) {}

    final SimulatedTime time = new SimulatedTime();
    final Deque<Sent> wire = new ArrayDeque<>();
    final List<String> notified = new ArrayList<>();
    final Map<Integer, References> workers = new HashMap<>();
    private final Map<Integer, Holder> incarnations = new HashMap<>();

    Exchange() {
        for (int id = 0; id < 3; id++) {
            begin(new Holder(id, 1), 0);
        }
    }

    References begin(Holder incarnation, long firstLocalId) {
        References references = new References(
                incarnation,
                firstLocalId,
                SETTINGS,
                time,
                (message, to, outcome) -> wire.add(new Sent(incarnation.worker(), to, message, outcome)),
                listener());
        workers.put(incarnation.worker(), references);
        incarnations.put(incarnation.worker(), incarnation);
        return references;
    }

    private ReferenceListener listener() {
        return new ReferenceListener() {
            @Override
            public void onReleasedForDead(Holder dead, int forks) {
                notified.add("released " + forks + " of worker " + dead.worker());
            }

            @Override
            public void onOverdue(ControlMessage message, int to, String why) {
                notified.add("overdue " + message.type() + " to " + to + ": " + why);
            }

            @Override
            public void onLeak(ReferenceStatus leaked) {
                notified.add(leaked.part() + " " + leaked.fork() + " "
                        + leaked.peer().worker());
            }

            @Override
            public void onKept(int values) {
                notified.add("kept " + values);
            }
        };
    }

    References worker(int id) {
        return workers.get(id);
    }

    Holder incarnation(int id) {
        return incarnations.get(id);
    }

    /** Delivers what waits, and what follows from it. @return the types in order */
    List<String> deliverAll() {
        List<String> types = new ArrayList<>();
        while (!wire.isEmpty()) {
            types.add(deliver(wire.poll()));
        }
        return types;
    }

    String deliver(Sent sent) {
        Optional<CallException> refused = worker(sent.to()).receive(sent.message(), incarnation(sent.from()));
        refused.ifPresentOrElse(
                why -> sent.outcome().failed(why.code(), why.getMessage()),
                () -> sent.outcome().acknowledged());
        return sent.message().type().name();
    }

    void failAll() {
        for (int waiting = wire.size(); waiting > 0; waiting--) {
            wire.poll().outcome().failed(ErrorCode.TIMED_OUT, "nothing came");
        }
    }

    void pass(Duration duration) {
        long untilNs = time.monotonicNs() + duration.toNanos();
        time.advanceTo(untilNs);
        workers.values().forEach(References::tick);
    }

    /** A reference on {@code user} to a value that {@code owner} has created. */
    UserReference created(int user, int owner, OwnedValue value) {
        UserReference reference = worker(user).creations().create(incarnation(owner), "Tensor");
        worker(owner).creations().begin(reference.id(), reference.fork(), incarnation(user), "Tensor");
        worker(owner).creations().finish(reference.id(), value);
        worker(user).creations().created(reference, reference.id(), reference.fork());
        return reference;
    }

    /** Shares a reference and lets the receiver read the request. */
    Arrival share(Reference reference, int from, int to) {
        return worker(to)
                .forks()
                .arrive(List.of(worker(from).forks().fork(reference, incarnation(to))), incarnation(from));
    }
}
