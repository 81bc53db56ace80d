package io.waybill.rref;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.ErrorKind;
import io.waybill.api.MessageId;
import io.waybill.api.RejectedMessageException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.function.BiConsumer;
import java.util.function.Consumer;

/**
 * Four workers whose programs create, share, read and give back references at random, in one thread, over a network that delays, repeats,
 * reorders and loses. After every event it is checked that nothing is used after its release. All follows from a seed.
 */
final class Simulation {

    /** What happens to workers. */
    enum Mode {
        STEADY,
        KILLS
    }

    private static final int WORKERS = 4;
    private static final int MAX_HANDLES = 12;
    private static final long MS = 1_000_000;
    private static final RRefSettings SETTINGS = new RRefSettings(
            Duration.ofSeconds(10),
            Duration.ofSeconds(5),
            Duration.ofMinutes(2),
            new ControlRetries(5, Duration.ofSeconds(1), Duration.ofSeconds(10), Duration.ZERO),
            Keeping.ON_REQUEST);
    private static final String BODY_FAILED = "the body failed";

    private final Random random;
    private final Mode mode;
    private final SimulatedTime time = new SimulatedTime();
    private final SimulatedWorker[] workers = new SimulatedWorker[WORKERS];
    private final Map<Integer, Long> lostUntil = new HashMap<>();
    private final Set<RRefId> begun = new HashSet<>();
    private final Set<RRefId> broken = new HashSet<>();
    private final Set<Integer> dead = new HashSet<>();
    private boolean programsRun = true;
    private long events;
    private long reads;
    private long givenUp;
    private long killed;

    Simulation(long seed, Mode mode) {
        this.random = new Random(seed);
        this.mode = mode;
        for (int id = 0; id < WORKERS; id++) {
            workers[id] = new SimulatedWorker(new Holder(id, 1), 0, SETTINGS, time, this);
        }
        for (SimulatedWorker worker : workers) {
            for (SimulatedWorker other : workers) {
                worker.known.put(other.id(), other.self);
            }
        }
    }

    /** Runs this many operations, then lets everything come to rest. */
    void run(int operations) {
        for (int done = 0; done < operations; done++) {
            long untilNs = time.monotonicNs() + random.nextInt((int) (4 * MS));
            runUntil(untilNs);
            operate();
            check();
            if (mode == Mode.KILLS && random.nextInt(2000) == 0) {
                kill();
            }
        }
        finish();
    }

    private void runUntil(long untilNs) {
        while (step(untilNs)) {
            check();
        }
        time.advanceTo(untilNs);
    }

    /** The next thing that happens at all, up to a time. */
    private boolean step(long untilNs) {
        SimulatedWorker next = null;
        long dueNs = time.nextNs();
        for (SimulatedWorker worker : workers) {
            if (worker.alive && worker.references.nextDueNs() < dueNs) {
                next = worker;
                dueNs = worker.references.nextDueNs();
            }
        }
        if (dueNs > untilNs) {
            return false;
        }
        events++;
        if (next == null) {
            time.runNext();
        } else {
            time.advanceTo(dueNs);
            next.references.tick();
        }
        return true;
    }

    private long delay() {
        return random.nextInt(20) == 0 ? random.nextInt((int) (400 * MS)) : random.nextInt((int) (3 * MS));
    }

    private boolean chance(int percent) {
        return random.nextInt(100) < percent;
    }

    // ---- what programs do

    private void operate() {
        SimulatedWorker worker = workers[random.nextInt(WORKERS)];
        if (!worker.alive) {
            return;
        }
        int choice = random.nextInt(100);
        if (worker.handles.size() >= MAX_HANDLES || choice >= 75 && !worker.handles.isEmpty()) {
            giveBack(worker);
        } else if (choice < 25) {
            create(worker);
        } else if (choice < 28) {
            createHere(worker);
        } else if (choice < 32) {
            worker.handles.add(worker.references.creations().own(worker.value(null), "int"));
        } else if (worker.handles.isEmpty()) {
            create(worker);
        } else if (choice < 62) {
            share(worker);
        } else {
            read(worker, worker.handles.get(random.nextInt(worker.handles.size())));
        }
    }

    private void giveBack(SimulatedWorker worker) {
        Reference last = worker.handles.remove(random.nextInt(worker.handles.size()));
        worker.references.release(last);
    }

    private Holder someoneElse(SimulatedWorker worker) {
        int other = (worker.id() + 1 + random.nextInt(WORKERS - 1)) % WORKERS;
        return worker.known.get(other);
    }

    private void create(SimulatedWorker worker) {
        Holder owner = someoneElse(worker);
        if (owner == null) {
            return;
        }
        UserReference user = worker.references.creations().create(owner, "int");
        worker.made.add(user);
        worker.handles.add(user);
        SimulatedCall call = new SimulatedCall(
                worker, owner, () -> worker.references.creations().created(user, user.id(), user.fork()), why -> {
                    broken.add(user.id());
                    worker.references.creations().creationFailed(user, why);
                });
        List<ForkData> arguments = chance(20) ? fork(worker, owner, 1) : List.of();
        send(call, arguments, at -> createAt(at, call, user), arguments.isEmpty() && chance(4));
    }

    private void createAt(SimulatedWorker at, SimulatedCall call, UserReference user) {
        switch (at.references.creations().begin(user.id(), user.fork(), call.caller.self, "int")) {
            case RUN -> {
                begun.add(user.id());
                time.in(delay(), () -> finishAt(at, call, user.id()));
            }
            case KNOWN -> at.references.whenSettled(user.id(), () -> reply(at, call));
            case DELETED -> replyTo(at, call, Optional.of(RRefErrors.gone(user.id(), at.id())));
        }
    }

    private void finishAt(SimulatedWorker at, SimulatedCall call, RRefId id) {
        if (at.alive) {
            if (chance(15)) {
                at.references.creations().finishFailed(id, bodyFailed());
            } else {
                at.references.creations().finish(id, at.value(id));
            }
            reply(at, call);
        }
    }

    private static CallException bodyFailed() {
        return new CallException(ErrorKind.UNKNOWN_ERROR, ErrorCode.REFUSED, MessageId.NONE, BODY_FAILED);
    }

    private void createHere(SimulatedWorker worker) {
        OwnerReference owner = worker.references.creations().createHere("int");
        worker.handles.add(owner);
        ForkId self = ForkId.ofOwner(owner.id());
        SimulatedCall call = new SimulatedCall(
                worker,
                worker.self,
                () -> {},
                why -> worker.references.creations().creationFailed(owner, why));
        send(
                call,
                List.of(),
                at -> {
                    if (at.references.creations().begin(owner.id(), self, at.self, "int") == Begun.RUN) {
                        time.in(delay(), () -> finishAt(at, call, owner.id()));
                    }
                },
                chance(10));
    }

    private void share(SimulatedWorker worker) {
        Holder to = chance(15) ? worker.self : someoneElse(worker);
        if (to == null) {
            return;
        }
        List<ForkData> data = fork(worker, to, 1 + random.nextInt(3));
        SimulatedCall call = new SimulatedCall(worker, to, () -> {}, why -> {});
        send(call, data, at -> reply(at, call), false);
    }

    private List<ForkData> fork(SimulatedWorker worker, Holder to, int count) {
        List<ForkData> data = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            try {
                data.add(worker.references.forks().fork(worker.handles.get(random.nextInt(worker.handles.size())), to));
            } catch (CallException e) {
                givenUp++; // its creation failed, or its owner died
            }
        }
        return data;
    }

    private void read(SimulatedWorker worker, Reference reference) {
        if (reference instanceof OwnerReference owner) {
            worker.references.read(owner, new Reading(owner.id(), outcome -> {}));
            return;
        }
        UserReference user = (UserReference) reference;
        try {
            worker.references.requireUsable(user, "toHere()");
        } catch (CallException e) {
            givenUp++;
            return;
        }
        Holder to = worker.known.get(user.owner());
        if (to == null) {
            return;
        }
        worker.references.retain(user);
        SimulatedCall call = new SimulatedCall(worker, to, () -> worker.references.release(user), why -> {
            worker.references.release(user);
            requireAllowed(user, why);
        });
        int generation = user.ownerGeneration;
        send(
                call,
                List.of(),
                at -> at.references.fetch(
                        user.id(), generation, new Reading(user.id(), failure -> replyTo(at, call, failure))),
                false);
    }

    private void requireAllowed(UserReference user, CallException why) {
        boolean gone = why.code() == ErrorCode.REFERENCE_DELETED || why.code() == ErrorCode.OWNER_LOST;
        if (gone && mode == Mode.STEADY && !broken.contains(user.id())) {
            throw new AssertionError(
                    user + " was used while a handle was open, and the owner said: " + why.getMessage());
        }
    }

    /** Waits for a value for five seconds. */
    private final class Reading implements ValueWaiter {
        private final RRefId id;
        private final Consumer<Optional<CallException>> told;
        private final long deadlineNs = time.monotonicNs() + 5000 * MS;
        private boolean heard;

        Reading(RRefId id, Consumer<Optional<CallException>> told) {
            this.id = id;
            this.told = told;
        }

        @Override
        public void onValue(OwnedValue value) {
            reads++;
            ((SimulatedValue) value).read(id);
            once(Optional.empty());
        }

        @Override
        public void onFailure(CallException failure) {
            once(Optional.of(failure));
        }

        private void once(Optional<CallException> outcome) {
            if (heard) {
                throw new AssertionError("a read of " + id + " ended twice");
            }
            heard = true;
            told.accept(outcome);
        }

        @Override
        public long deadlineNs() {
            return deadlineNs;
        }
    }

    // ---- the network

    private SimulatedWorker live(Holder life) {
        SimulatedWorker worker = workers[life.worker()];
        return worker.alive && worker.self.equals(life) ? worker : null;
    }

    /** Sends a call with references. It is delivered, in whatever time; or not sent, or lost, or told to be late. */
    private void send(SimulatedCall call, List<ForkData> data, Consumer<SimulatedWorker> body, boolean twice) {
        call.caller.calls.add(call);
        if (chance(3) || workers[call.target.worker()].self.generation() != call.target.generation()) {
            data.forEach(call.caller.references.forks()::abandon);
            call.fail(ErrorCode.BACK_PRESSURE, "not sent");
            return;
        }
        int fate = random.nextInt(100);
        if (fate < 2 && data.isEmpty()) {
            time.in(delay() + 100 * MS, () -> call.fail(ErrorCode.TIMED_OUT, "lost"));
            return;
        }
        if (fate < 6) {
            time.in(delay(), () -> call.fail(ErrorCode.TIMED_OUT, "late"));
        }
        boolean refused = fate >= 6 && fate < 9;
        time.in(delay(), () -> deliver(call, data, refused, body));
        if (twice) {
            time.in(delay(), () -> deliver(call, data, false, body));
        }
    }

    private void deliver(SimulatedCall call, List<ForkData> data, boolean refused, Consumer<SimulatedWorker> body) {
        SimulatedWorker at = live(call.target);
        if (at == null || refused) {
            SimulatedWorker reader = workers[call.target.worker()];
            if (reader.alive) { // also a later life reads what was sent to an earlier one, and begins nothing
                data.forEach(each -> reader.references.forks().decline(each, call.caller.self));
            }
            ErrorCode code = refused ? ErrorCode.MALFORMED_BODY : ErrorCode.WORKER_LOST;
            time.in(delay(), () -> call.fail(code, "not begun"));
            return;
        }
        if (data.isEmpty()) {
            body.accept(at);
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
            Consumer<SimulatedWorker> body) {
        if (!at.alive) {
            return;
        }
        if (failure.isPresent()) {
            at.references.forks().release(arrival);
            replyTo(at, call, failure);
            return;
        }
        for (Reference reference : arrival.references()) {
            if (programsRun && at.handles.size() < MAX_HANDLES && chance(60)) {
                at.references.retain(reference);
                at.handles.add(reference);
            }
        }
        body.accept(at);
        time.in(delay(), () -> {
            if (at.alive) {
                at.references.forks().release(arrival);
            }
        });
    }

    private void reply(SimulatedWorker at, SimulatedCall call) {
        replyTo(at, call, Optional.empty());
    }

    private void replyTo(SimulatedWorker at, SimulatedCall call, Optional<CallException> failure) {
        if (at.alive) {
            time.in(delay(), () -> failure.ifPresentOrElse(call::fail, call::answer));
        }
    }

    /** A control message: the same bytes each time, lost or repeated at will, its acknowledgement too. */
    void control(SimulatedWorker from, ControlMessage message, int to, ControlOutcome outcome) {
        if (!from.alive) {
            return;
        }
        Holder target = from.known.get(to);
        if (target == null || workers[to].self.generation() != target.generation()) {
            outcome.failed(ErrorCode.WORKER_LOST, "down");
            return;
        }
        SimulatedCall call = new SimulatedCall(
                from, target, outcome::acknowledged, why -> outcome.failed(why.code(), why.getMessage()));
        from.calls.add(call);
        int fate = random.nextInt(100);
        if (fate < 8) {
            time.in(delay(), () -> call.fail(ErrorCode.BACK_PRESSURE, "failed on purpose"));
            return;
        }
        if (fate < 14) {
            time.in(delay(), () -> call.fail(ErrorCode.TIMED_OUT, "late"));
        }
        BiConsumer<Long, Boolean> arrives =
                (delayNs, answered) -> time.in(delayNs, () -> receive(call, from, message, target, outcome, answered));
        arrives.accept(delay(), true);
        if (chance(8)) {
            arrives.accept(delay(), chance(50));
        }
    }

    private void receive(
            SimulatedCall call,
            SimulatedWorker from,
            ControlMessage message,
            Holder target,
            ControlOutcome outcome,
            boolean answered) {
        SimulatedWorker at = live(target);
        if (at == null) {
            time.in(delay(), () -> call.fail(ErrorCode.WORKER_LOST, "not begun"));
            return;
        }
        Optional<CallException> refused = at.references.receive(decoded(message), from.self);
        if (answered) {
            replyTo(at, call, refused);
        }
        if (answered && chance(5) && refused.isEmpty()) { // an answer that nobody waits for any more
            time.in(1000 * MS, () -> {
                if (from.alive) {
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

    // ---- workers that die

    private void kill() {
        SimulatedWorker victim = workers[random.nextInt(WORKERS)];
        if (!victim.alive || dead.size() >= 2) {
            return;
        }
        killed++;
        victim.alive = false;
        dead.add(victim.id());
        for (SimulatedWorker other : workers) {
            if (other.alive) {
                long delayNs = delay();
                lostUntil.merge(other.id() * WORKERS + victim.id(), time.monotonicNs() + delayNs, Math::max);
                time.in(delayNs, () -> tellLost(other, victim.self));
            }
        }
        time.in(100 * MS + (long) (random.nextDouble() * 12_000 * MS), () -> restart(victim));
    }

    private void tellLost(SimulatedWorker told, Holder gone) {
        if (!told.alive) {
            return;
        }
        told.known.remove(gone.worker());
        told.references.lost(gone);
        for (SimulatedCall call : new ArrayList<>(told.calls)) {
            if (call.target.equals(gone)) {
                call.fail(ErrorCode.WORKER_LOST, "its process is gone");
            }
        }
    }

    private void restart(SimulatedWorker before) {
        Holder life = new Holder(before.id(), before.self.generation() + 1);
        SimulatedWorker after = new SimulatedWorker(life, life.generation() * 100_000_000L, SETTINGS, time, this);
        workers[before.id()] = after;
        dead.remove(before.id());
        after.known.put(life.worker(), life);
        for (SimulatedWorker other : workers) {
            if (other != after && other.alive) {
                after.known.put(other.id(), other.self);
                long sinceNs = lostUntil.getOrDefault(other.id() * WORKERS + before.id(), 0L) - time.monotonicNs();
                time.in(Math.max(0, sinceNs) + delay(), () -> tellReturned(other, life));
                time.in(delay(), () -> tellReturned(after, other.self));
            } else if (other != after) {
                after.references.lost(other.self);
            }
        }
        if (chance(50)) {
            keepValues(before, after);
        }
    }

    private void tellReturned(SimulatedWorker told, Holder life) {
        if (told.alive && live(life) != null) {
            told.known.put(life.worker(), life);
            told.references.returned(life);
        }
    }

    private void keepValues(SimulatedWorker before, SimulatedWorker after) {
        for (OwnerReference entry : before.references.owners().table().all()) {
            if (entry.value != null) {
                after.references.creations().restore(entry.id(), after.value(entry.id()), entry.type());
            }
        }
    }

    // ---- what must hold

    /** Whatever has an open handle is there: its owner knows the fork, and its value is not closed. */
    private void check() {
        for (SimulatedWorker worker : workers) {
            if (worker.alive) {
                for (Reference handle : worker.handles) {
                    check(worker, handle);
                }
            }
        }
    }

    private void check(SimulatedWorker worker, Reference handle) {
        if (handle instanceof OwnerReference owner) {
            require(
                    owner.state != OwnerReference.State.SETTLED || owner.failure != null || isOpen(owner.value),
                    "the value of " + handle + " is closed");
            return;
        }
        UserReference user = (UserReference) handle;
        SimulatedWorker owner = workers[user.owner()];
        boolean sameLife = owner.alive && owner.self.generation() == user.ownerGeneration;
        if (!sameLife || user.orphan || user.state == UserReference.State.FAILED) {
            return;
        }
        OwnerReference entry = owner.references.owners().table().find(user.id());
        if (user.state == UserReference.State.CONFIRMED) {
            require(entry != null, "the owner does not know " + user + ", which it confirmed to " + worker);
            require(entry.forks.containsKey(user.fork()), "the owner forgot " + user + " of " + worker);
        } else if (mode == Mode.STEADY && begun.contains(user.id()) && !broken.contains(user.id())) {
            require(entry != null, "no ancestor of " + user + " kept it alive for " + worker);
        }
        require(
                entry == null
                        || entry.state != OwnerReference.State.SETTLED
                        || entry.failure != null
                        || isOpen(entry.value),
                "the value of " + user + " is closed");
    }

    private static boolean isOpen(OwnedValue value) {
        return value != null && !((SimulatedValue) value).isClosed();
    }

    private static void require(boolean holds, String otherwise) {
        if (!holds) {
            throw new AssertionError(otherwise);
        }
    }

    // ---- the end

    /** All programs close their handles, and whoever died is back; then nothing may be left. */
    private void finish() {
        programsRun = false;
        runUntil(time.monotonicNs() + 30_000 * MS);
        for (SimulatedWorker worker : workers) {
            while (!worker.handles.isEmpty()) {
                giveBack(worker);
            }
        }
        long quietNs = time.monotonicNs() + 3_600_000 * MS;
        while (step(quietNs)) {
            check();
        }
        for (SimulatedWorker worker : workers) {
            requireNothingLeft(worker);
        }
    }

    private void requireNothingLeft(SimulatedWorker worker) {
        RRefCounters counters = worker.references.counters();
        require(counters.isClean(), worker + " ends with " + counters + leftOf(worker));
        require(worker.references.owners().table().held() == 0, worker + " holds values at the end");
        require(worker.references.owners().reads().waiting() == 0, "somebody waits for a value of " + worker);
        require(worker.calls.isEmpty(), worker + " has calls without an outcome");
        for (SimulatedValue value : worker.values) {
            require(value.isClosed(), "a value of " + worker + " was not closed");
        }
        for (UserReference user : worker.made) {
            require(user.state != UserReference.State.PENDING, user + " of " + worker + " was never settled");
        }
    }

    private static String leftOf(SimulatedWorker worker) {
        StringBuilder left = new StringBuilder();
        worker.references.forEachFork((entry, forks) ->
                left.append(", ").append(entry).append(' ').append(entry.state).append(forks));
        return left.toString();
    }

    /** What happened, for whoever wonders whether anything did. */
    String summary() {
        return events + " events, " + reads + " values read, " + broken.size() + " creations failed, " + killed
                + " workers killed, " + givenUp + " uses of failed references";
    }

    long reads() {
        return reads;
    }

    long killed() {
        return killed;
    }

    int brokenCreations() {
        return broken.size();
    }
}
