package io.waybill.rref;

import static io.waybill.rref.SimulatedHome.MS;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.ErrorKind;
import io.waybill.api.MessageId;
import io.waybill.rref.SimulatedNetwork.Delivery;
import io.waybill.rref.id.ForkData;
import io.waybill.rref.id.ForkId;
import io.waybill.rref.id.RRefId;
import io.waybill.rref.status.Holder;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.BiConsumer;
import java.util.function.Consumer;

/**
 * What programs and handlers do with references: create, share, respond, read and give back. Values may hold references, but never in a
 * circle: one that is held before it is there will hold nothing itself.
 */
final class SimulatedPrograms {

    private static final CallException BODY_FAILED =
            new CallException(ErrorKind.UNKNOWN_ERROR, ErrorCode.REFUSED, MessageId.NONE, "the body failed");

    private final SimulatedHome home;
    private final Set<RRefId> heldBeforeTheyAreThere = new HashSet<>();

    SimulatedPrograms(SimulatedHome home) {
        this.home = home;
    }

    void operate() {
        SimulatedWorker worker = home.workers[home.any(SimulatedHome.WORKERS)];
        if (!worker.alive) {
            return;
        }
        int choice = home.any(100);
        if (!worker.hasRoom() || choice >= 75 && !worker.handles.isEmpty()) {
            giveBack(worker);
        } else if (choice < 25) {
            create(worker);
        } else if (choice < 28) {
            createHere(worker);
        } else if (choice < 32) {
            own(worker);
        } else if (worker.handles.isEmpty()) {
            create(worker);
        } else if (choice < 62) {
            share(worker);
        } else {
            read(worker, oneOf(worker));
        }
    }

    void giveBack(SimulatedWorker worker) {
        worker.references.release(worker.handles.remove(home.any(worker.handles.size())));
    }

    private Reference oneOf(SimulatedWorker worker) {
        return worker.handles.get(home.any(worker.handles.size()));
    }

    private Holder someoneElse(SimulatedWorker worker) {
        return worker.known.get((worker.id() + 1 + home.any(SimulatedHome.WORKERS - 1)) % SimulatedHome.WORKERS);
    }

    // ---- values

    private void own(SimulatedWorker worker) {
        SimulatedValue value = worker.value(null, some(worker, List.of(), null));
        OwnerReference own = worker.references.creations().own(value, "int");
        home.finished.add(own.id());
        worker.handles.add(own);
    }

    /** What a value is to hold, of what its worker and its handler have: mostly nothing. */
    private List<Reference> some(SimulatedWorker worker, List<Reference> arguments, RRefId itself) {
        List<Reference> chosen = new ArrayList<>();
        List<Reference> all = new ArrayList<>(worker.handles);
        all.addAll(arguments);
        all.removeIf(each -> each.id().equals(itself));
        for (int i = home.chance(25) && !all.isEmpty() ? 1 + home.any(2) : 0; i > 0; i--) {
            Reference each = all.get(home.any(all.size()));
            chosen.add(each);
            if (!home.finished.contains(each.id())) {
                heldBeforeTheyAreThere.add(each.id());
            }
        }
        home.holding += chosen.isEmpty() ? 0 : 1;
        return chosen;
    }

    private void create(SimulatedWorker worker) {
        Holder owner = someoneElse(worker);
        if (owner == null) {
            return;
        }
        UserReference user = worker.references.creations().create(owner, "int");
        worker.made.add(user);
        worker.handles.add(user);
        Runnable created = () -> worker.references.creations().created(user, user.id(), user.fork());
        SimulatedCall call = new SimulatedCall(worker, owner, created, why -> {
            home.broken.add(user.id());
            worker.references.creations().creationFailed(user, why);
        });
        List<ForkData> arguments = home.chance(20) ? fork(worker, owner, 1) : List.of();
        home.network.send(
                call,
                arguments,
                (at, given) -> createAt(at, call, user, given),
                arguments.isEmpty() && home.chance(4) ? Delivery.TWICE : Delivery.ONCE);
    }

    private void createAt(SimulatedWorker at, SimulatedCall call, UserReference user, List<Reference> given) {
        switch (at.references.creations().begin(user.id(), user.fork(), call.caller.self, "int")) {
            case RUN -> {
                home.begun.add(user.id());
                given.forEach(at.references::retain);
                home.time.in(home.delay(), () -> finishAt(at, call, user.id(), given));
            }
            case KNOWN -> at.references.whenCompleted(user.id(), () -> home.network.respond(at, call, List.of()));
            case DELETED -> home.network.fail(at, call, RRefErrors.gone(user.id(), at.id()));
        }
    }

    /** The body is done; what it was given ends with it. */
    private void finishAt(SimulatedWorker at, SimulatedCall call, RRefId id, List<Reference> given) {
        if (!at.alive) {
            return;
        }
        if (home.chance(15)) {
            at.references.creations().finishFailed(id, BODY_FAILED);
        } else {
            List<Reference> held = heldBeforeTheyAreThere.contains(id) ? List.of() : some(at, given, id);
            at.references.creations().finish(id, at.value(id, held));
        }
        home.finished.add(id);
        given.forEach(at.references::release);
        home.network.respond(at, call, List.of());
    }

    private void createHere(SimulatedWorker worker) {
        OwnerReference owner = worker.references.creations().createHere("int");
        worker.handles.add(owner);
        ForkId self = ForkId.ofOwner(owner.id());
        SimulatedCall call = new SimulatedCall(worker, worker.self, () -> {}, why -> {
            home.broken.add(owner.id());
            worker.references.creations().creationFailed(owner, why);
        });
        BiConsumer<SimulatedWorker, List<Reference>> body = (at, given) -> {
            if (at.references.creations().begin(owner.id(), self, at.self, "int") == CreationDecision.RUN) {
                home.time.in(home.delay(), () -> finishAt(at, call, owner.id(), given));
            }
        };
        home.network.send(call, List.of(), body, home.chance(10) ? Delivery.TWICE : Delivery.ONCE);
    }

    // ---- references that travel

    /** A call with references, whose response may bring some too. */
    private void share(SimulatedWorker worker) {
        Holder to = home.chance(15) ? worker.self : someoneElse(worker);
        if (to == null) {
            return;
        }
        List<ForkData> data = fork(worker, to, 1 + home.any(3));
        SimulatedCall call = new SimulatedCall(worker, to, () -> {}, why -> {});
        home.network.send(
                call, data, (at, given) -> home.network.respond(at, call, responseOf(at, given)), Delivery.ONCE);
    }

    /** Some of what the handler was given, and of what its worker has. */
    private List<Reference> responseOf(SimulatedWorker at, List<Reference> given) {
        List<Reference> all = new ArrayList<>(given);
        all.addAll(at.handles);
        List<Reference> chosen = new ArrayList<>();
        for (int i = home.chance(50) && !all.isEmpty() ? 1 + home.any(2) : 0; i > 0; i--) {
            chosen.add(all.get(home.any(all.size())));
        }
        return chosen;
    }

    private List<ForkData> fork(SimulatedWorker worker, Holder to, int count) {
        List<ForkData> data = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            Reference one = oneOf(worker);
            if (home.isUsable(worker, one)) {
                data.add(worker.references.forks().fork(one, to));
            }
        }
        return data;
    }

    // ---- reading

    private void read(SimulatedWorker worker, Reference reference) {
        if (reference instanceof OwnerReference owner) {
            worker.references.read(owner, new Reading(owner.id(), value -> look(worker, value), why -> {}));
            return;
        }
        UserReference user = (UserReference) reference;
        Holder to = worker.known.get(user.owner());
        if (to == null || !home.isUsable(worker, user)) {
            return;
        }
        worker.references.retain(user);
        SimulatedCall call = new SimulatedCall(worker, to, () -> worker.references.release(user), why -> {
            worker.references.release(user);
            home.requireAllowed(user, why);
        });
        int epoch = user.ownerEpoch;
        home.network.send(call, List.of(), (at, given) -> fetchAt(at, call, user.id(), epoch), Delivery.ONCE);
    }

    private void fetchAt(SimulatedWorker at, SimulatedCall call, RRefId id, int epoch) {
        Reading reading = new Reading(
                id, value -> home.network.respond(at, call, value.held()), why -> home.network.fail(at, call, why));
        at.references.fetch(id, epoch, reading);
    }

    /** Has handles of what the value holds for a while. */
    private void look(SimulatedWorker worker, SimulatedValue value) {
        List<Reference> taken = new ArrayList<>();
        for (Reference each : value.held()) {
            if (home.isUsable(worker, each)) {
                worker.references.retain(each);
                taken.add(each);
            }
        }
        home.time.in(home.delay(), () -> {
            if (worker.alive) {
                taken.forEach(worker.references::release);
            }
        });
    }

    /** Waits for a value for five seconds. */
    private final class Reading implements ValueWaiter {
        private final RRefId id;
        private final Consumer<SimulatedValue> onValue;
        private final Consumer<CallException> onFailure;
        private final long deadlineNs = home.time.monotonicNs() + 5000 * MS;
        private boolean heard;

        Reading(RRefId id, Consumer<SimulatedValue> onValue, Consumer<CallException> onFailure) {
            this.id = id;
            this.onValue = onValue;
            this.onFailure = onFailure;
        }

        @Override
        public void onValue(OwnedValue value) {
            home.reads++;
            SimulatedValue read = (SimulatedValue) value;
            read.read(id);
            once();
            onValue.accept(read);
        }

        @Override
        public void onFailure(CallException failure) {
            once();
            onFailure.accept(failure);
        }

        private void once() {
            if (heard) {
                throw new AssertionError("a read of " + id + " ended twice");
            }
            heard = true;
        }

        @Override
        public long deadlineNs() {
            return deadlineNs;
        }
    }
}
