package io.waybill.worker.call;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.ErrorKind;
import io.waybill.api.Invocation;
import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.api.RRef;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.ResponseListener;
import io.waybill.api.Rpc;
import io.waybill.api.Value;
import io.waybill.api.ValueEncoder;
import io.waybill.api.WorkerInfo;
import io.waybill.exchange.CallOrigin;
import io.waybill.rref.OwnerReference;
import io.waybill.rref.Reference;
import io.waybill.rref.References;
import io.waybill.rref.UserReference;
import io.waybill.rref.id.ForkData;
import io.waybill.rref.id.ForkId;
import io.waybill.rref.id.RRefId;
import io.waybill.rref.status.DrainReport;
import io.waybill.rref.status.Holder;
import io.waybill.worker.peer.CallErrors;
import io.waybill.worker.reference.ReferenceHandle;
import io.waybill.worker.reference.SentReferences;
import io.waybill.worker.reference.StoredValue;
import io.waybill.worker.reference.WorkerReferences;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/** Calls of operators and functions by a worker's program, or on behalf of one of its handlers. Thread-safe. */
public final class WorkerRpc implements Rpc {

    private static final String ANY_TYPE = "Any";

    private final Calls calls;
    private final WorkerReferences home;
    private final CallOrigin origin;

    /**
     * Creates the calls of one origin.
     *
     * @param origin the program, or the request on whose behalf it calls
     */
    public WorkerRpc(Calls calls, WorkerReferences home, CallOrigin origin) {
        this.calls = calls;
        this.home = home;
        this.origin = origin;
    }

    public boolean serves() {
        return home.serves();
    }

    public void requireServing() {
        if (!serves()) {
            throw new IllegalStateException(
                    "worker " + info().name() + " only calls, and remote references need one that serves");
        }
    }

    @Override
    public WorkerInfo info() {
        return home.info();
    }

    @Override
    public Response rpcSync(String to, Invocation call) {
        return rpcSync(to, call, calls.defaultTimeout());
    }

    @Override
    public Response rpcSync(String to, Invocation call, Duration timeout) {
        return calls.call(request(to, MessageType.SCRIPT_CALL, call, timeout), origin.parent(), origin.deadlineNs());
    }

    @Override
    public CompletableFuture<Response> rpcAsync(String to, Invocation call) {
        return rpcAsync(to, call, calls.defaultTimeout());
    }

    @Override
    public CompletableFuture<Response> rpcAsync(String to, Invocation call, Duration timeout) {
        return calls.callAsync(
                request(to, MessageType.SCRIPT_CALL, call, timeout), origin.parent(), origin.deadlineNs());
    }

    private static Request request(String to, MessageType type, Invocation call, Duration timeout) {
        return Request.invocation(to, type, call).timeout(timeout);
    }

    @Override
    public RRef remote(String to, Invocation call) {
        return remote(to, call, calls.defaultTimeout());
    }

    @Override
    public RRef remote(String to, Invocation call, Duration timeout) {
        return remote(request(to, MessageType.SCRIPT_CALL, call, timeout), ANY_TYPE);
    }

    @Override
    public RRef remote(Request call, String type) {
        Request request = call.creating();
        Creation creation = new Creation(home.references(), type);
        try {
            calls.send(request, creation, origin.parent(), origin.deadlineNs(), creation);
            return new ReferenceHandle(home, creation.reference, ReferenceHandle.Holding.OWN);
        } catch (RuntimeException e) {
            creation.notSent(e);
            throw e;
        }
    }

    @Override
    public RRef rref(Value value) {
        return rref(value, ANY_TYPE);
    }

    @Override
    public RRef rref(Value value, String type) {
        ValueEncoder encoder = new ValueEncoder().value(value);
        StoredValue stored = home.store(encoder.array(), encoder.length(), encoder.tensors(), encoder.references());
        OwnerReference own = home.references().creations().own(stored, type);
        ReferenceHandle held = new ReferenceHandle(home, own, ReferenceHandle.Holding.OWN);
        try {
            home.keeper().owned(own, stored);
        } catch (CallException e) {
            held.close();
            throw e;
        }
        return held;
    }

    @Override
    public String shutdown(Duration limit) {
        if (origin != CallOrigin.PROGRAM) {
            throw new IllegalStateException("a handler can't end the references of its worker: its program does");
        }
        calls.requireMayBlock();
        CompletableFuture<DrainReport> report = new CompletableFuture<>();
        home.references().drain(limit, report::complete);
        DrainReport ended = awaitEnd(report);
        return ended.complete() ? "" : ended.text() + " Left: " + ended.left();
    }

    private DrainReport awaitEnd(CompletableFuture<DrainReport> report) {
        boolean interrupted = false;
        while (!report.isDone()) {
            try {
                calls.await(report, Long.MAX_VALUE);
            } catch (InterruptedException e) { // the wait continues: it has a limit
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        return report.getNow(null);
    }

    @Override
    public Map<String, String> debugInfo() {
        return home.references().counters().debugInfo();
    }

    /** Reference to the value that a request creates, from before the request is sent until its response. */
    private static final class Creation implements SentReferences.Creation, ResponseListener {
        private final References references;
        private final String type;
        private Reference reference; // null until the receiver is known

        Creation(References references, String type) {
            this.references = references;
            this.type = type;
        }

        @Override
        public ForkData begin(Holder owner) {
            Holder self = references.self();
            if (owner.worker() == self.worker()) {
                OwnerReference own = references.creations().createHere(type);
                reference = own;
                ForkId fork = ForkId.ofOwner(own.id());
                return new ForkData(self.worker(), own.id(), fork, self.worker(), self.epoch(), type);
            }
            UserReference user = references.creations().create(owner, type);
            reference = user;
            return new ForkData(owner.worker(), user.id(), user.fork(), self.worker(), owner.epoch(), type);
        }

        @Override
        public void onResponse(Response response) {
            if (reference instanceof UserReference user) {
                List<Value> ids;
                try {
                    ids = response.value() instanceof Value.Tuple tuple ? tuple.values() : List.of();
                } catch (CallException e) { // of another content than that of a REMOTE_RET
                    onFailure(e);
                    return;
                }
                if (ids.size() == 4 && ids.stream().allMatch(Value.Int.class::isInstance)) {
                    references
                            .creations()
                            .created(
                                    user,
                                    new RRefId((int) number(ids, 0), number(ids, 1)),
                                    new ForkId((int) number(ids, 2), number(ids, 3)));
                } else {
                    onFailure(CallErrors.refused(ErrorCode.MALFORMED_BODY, "a REMOTE_RET is a tuple of four ints"));
                }
            }
        }

        private static long number(List<Value> ids, int index) {
            return ((Value.Int) ids.get(index)).value();
        }

        @Override
        public void onFailure(CallException failure) {
            if (reference instanceof UserReference user) {
                references.creations().creationFailed(user, failure);
            } else {
                references.creations().creationFailed((OwnerReference) reference, failure);
            }
        }

        void notSent(RuntimeException why) {
            if (reference != null) {
                onFailure(
                        why instanceof CallException failure
                                ? failure
                                : new CallException(
                                        ErrorKind.UNKNOWN_ERROR,
                                        ErrorCode.REFUSED,
                                        MessageId.NONE,
                                        String.valueOf(why.getMessage()),
                                        why));
                references.release(reference);
            }
        }
    }
}
