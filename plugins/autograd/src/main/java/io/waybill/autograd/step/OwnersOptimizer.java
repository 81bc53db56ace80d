package io.waybill.autograd.step;

import io.waybill.api.CallException;
import io.waybill.api.Caller;
import io.waybill.api.ErrorCode;
import io.waybill.api.ErrorKind;
import io.waybill.api.MessageId;
import io.waybill.api.RRef;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.WorkerInfo;
import io.waybill.api.broker.Broker;
import io.waybill.autograd.context.AutogradContext;
import io.waybill.autograd.context.ContextTable;
import io.waybill.autograd.optim.DistributedOptimizer;
import io.waybill.autograd.optim.OptimizerSettings;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;

/**
 * The program's side of a distributed optimizer: requests to the owners of the parameters.
 *
 * <p><b>Threads.</b> Any that may wait.
 */
public final class OwnersOptimizer implements DistributedOptimizer {

    private static final Logger LOG = System.getLogger(OwnersOptimizer.class.getName());

    private final Caller caller;
    private final ContextTable contexts;
    private final long id;
    private final List<Integer> owners;
    private final AtomicBoolean isClosed = new AtomicBoolean();

    private OwnersOptimizer(Caller caller, ContextTable contexts, long id, List<Integer> owners) {
        this.caller = caller;
        this.contexts = contexts;
        this.id = id;
        this.owners = owners;
    }

    /**
     * Creates an optimizer at each owner, and waits for all.
     *
     * @throws CallException if one can't be created; then none exists
     */
    public static OwnersOptimizer create(
            Broker broker, ContextTable contexts, List<? extends RRef> parameters, OptimizerSettings settings) {
        if (parameters.isEmpty()) {
            throw new IllegalArgumentException("an optimizer needs parameters");
        }
        Map<Integer, List<RRef>> byOwner = new LinkedHashMap<>();
        for (RRef parameter : parameters) {
            byOwner.computeIfAbsent(parameter.owner(), owner -> new ArrayList<>())
                    .add(parameter);
        }
        OwnersOptimizer created =
                new OwnersOptimizer(broker.caller(), contexts, broker.nextId(), List.copyOf(byOwner.keySet()));
        try {
            created.call(owner ->
                    OptimizerMessages.create(WorkerInfo.address(owner), created.id, settings, byOwner.get(owner)));
            return created;
        } catch (CallException e) {
            created.close();
            throw e;
        }
    }

    @Override
    public int step(long contextId) {
        contexts.requireHere(
                "this optimizer",
                "create another one with DistAutograd.optimizer; its averages start from zero, and parameters stay as they are");
        AutogradContext context = contexts.find(contextId)
                .orElseThrow(() -> new IllegalArgumentException(ContextTable.missing(contextId)));
        owners.forEach(context::know);
        return call(owner -> OptimizerMessages.step(WorkerInfo.address(owner), id, contextId));
    }

    @Override
    public void close() {
        if (isClosed.compareAndSet(false, true)) {
            try {
                call(owner -> OptimizerMessages.close(WorkerInfo.address(owner), id));
            } catch (CallException | IllegalStateException e) { // or this version is no longer active
                LOG.log(Level.DEBUG, "An owner gives an optimizer up when this worker ends", e);
            }
        }
    }

    /**
     * Sends a request to each owner, waits for all, and returns the sum of updated parameters. Throws the first
     * failure, with the others suppressed.
     */
    private int call(Function<Integer, Request> request) {
        List<CompletableFuture<Response>> calls = new ArrayList<>();
        for (Integer owner : owners) {
            calls.add(caller.callAsync(request.apply(owner)));
        }
        int updated = 0;
        CallException failure = null;
        for (int i = 0; i < calls.size(); i++) {
            try (Response response = calls.get(i).get()) {
                updated += OptimizerMessages.updated(response);
            } catch (ExecutionException e) {
                failure = first(failure, failed(owners.get(i), e.getCause()));
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new CallException(
                        ErrorKind.UNKNOWN_ERROR,
                        ErrorCode.CLOSED,
                        MessageId.NONE,
                        "interrupted while waiting for the optimizer at worker " + owners.get(i));
            }
        }
        if (failure != null) {
            throw failure;
        }
        return updated;
    }

    private static CallException first(CallException before, CallException failure) {
        if (before == null) {
            return failure;
        }
        before.addSuppressed(failure);
        return before;
    }

    private static CallException failed(int owner, Throwable cause) {
        String text = "the optimizer at worker " + owner + " failed: " + cause.getMessage();
        return cause instanceof CallException known
                ? new CallException(known.kind(), known.code(), known.messageId(), text, known)
                : new CallException(ErrorKind.UNKNOWN_ERROR, ErrorCode.HANDLER_FAILED, MessageId.NONE, text, cause);
    }
}
