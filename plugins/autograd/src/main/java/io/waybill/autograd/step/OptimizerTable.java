package io.waybill.autograd.step;

import io.waybill.api.ErrorCode;
import io.waybill.api.MessageId;
import io.waybill.api.RRef;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.tensor.Tensor;
import io.waybill.autograd.context.AutogradContext;
import io.waybill.autograd.optim.OptimizerSettings;
import io.waybill.torch.NativeState;
import io.waybill.torch.NativeTensors;
import io.waybill.torch.OperatorEvents;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongPredicate;

/**
 * The optimizers over parameters of this worker, by the ids that their creators gave them. One step runs at a time,
 * since two optimizers may share parameters.
 *
 * <p><b>Threads.</b> Any that may wait. <b>Ownership.</b> Owns the optimizers until they are closed, or their creator
 * ends.
 */
public final class OptimizerTable {

    private static final String NAMES = "io.waybill.autograd/optimizer/";
    private static final int MAX_OPTIMIZERS = 10_000;

    private final NativeTensors natives;
    private final Map<Long, HostedOptimizer> optimizers = new ConcurrentHashMap<>();
    private final ReentrantLock stepping = new ReentrantLock();

    public OptimizerTable(NativeTensors natives) {
        this.natives = natives;
    }

    /**
     * Creates an optimizer. Waits for the values of the references.
     *
     * @param id id, which contains the creator's
     * @param parameters references of this worker
     * @throws RejectedMessageException {@link ErrorCode#REFUSED} if one is no parameter, or there is an optimizer with
     *     this id
     */
    public void create(long id, List<RRef> parameters, OptimizerSettings settings) throws RejectedMessageException {
        if (optimizers.size() >= MAX_OPTIMIZERS) {
            throw refused("this worker has " + MAX_OPTIMIZERS + " optimizers, and that is the max", null);
        }
        List<Tensor> tensors = new ArrayList<>();
        HostedOptimizer created = null;
        try {
            for (RRef parameter : parameters) {
                tensors.add(tensor(parameter, tensors.size()));
            }
            created = HostedOptimizer.of(tensors, settings, natives);
        } catch (IllegalArgumentException e) {
            throw refused(e.getMessage(), e);
        } finally {
            if (created == null) {
                tensors.forEach(tensor -> tensor.storage().release());
            }
        }
        if (optimizers.putIfAbsent(id, created) != null) {
            created.close();
            throw refused("there is an optimizer " + MessageId.text(id), null);
        }
    }

    /** Returns the value, with a count of its storage. */
    private static Tensor tensor(RRef parameter, int at) {
        try (Response response = parameter.localValue()) {
            if (response.value() instanceof Value.OfTensor value) {
                value.value().storage().retain();
                return value.value();
            }
        }
        throw new IllegalArgumentException(
                "a parameter is a dense tensor, and that at " + at + " is another value: " + parameter.type());
    }

    /**
     * Updates parameters.
     *
     * @return number of updated parameters
     * @throws RejectedMessageException {@link ErrorCode#REFUSED} if there is no such optimizer, or libtorch fails
     */
    @SuppressWarnings("try")
    public int step(long id, AutogradContext context) throws RejectedMessageException {
        HostedOptimizer optimizer = optimizers.get(id);
        if (optimizer == null) {
            throw refused(
                    "there is no optimizer " + MessageId.text(id)
                            + " here: it was closed, or this worker or its creator was restarted; create one from scratch",
                    null);
        }
        stepping.lock();
        try (OperatorEvents.Observation observed = natives.operatorEvents().observe()) {
            return optimizer.step(context);
        } catch (RuntimeException e) { // from libtorch
            throw refused(firstLine(e), e);
        } finally {
            stepping.unlock();
        }
    }

    private static String firstLine(RuntimeException e) {
        return String.valueOf(e.getMessage()).lines().findFirst().orElse(e.toString());
    }

    private static RejectedMessageException refused(String text, Throwable cause) {
        return new RejectedMessageException(ErrorCode.REFUSED, text, cause);
    }

    /** Closes an optimizer. Has no effect if it does not exist. */
    public void close(long id) {
        HostedOptimizer closed = optimizers.remove(id);
        if (closed != null) {
            closed.close();
        }
    }

    /** Closes the optimizers with matching ids. */
    public void closeIf(LongPredicate isClosed) {
        optimizers.keySet().stream().filter(isClosed::test).toList().forEach(this::close);
    }

    /** Returns the number of optimizers. */
    public int count() {
        return optimizers.size();
    }

    /** Saves all optimizers for another version of this bundle. */
    public void save(NativeState state) {
        for (Long id : List.copyOf(optimizers.keySet())) {
            HostedOptimizer left = optimizers.remove(id);
            if (left != null) {
                left.archive(id).ifPresent(entry -> state.put(NAMES + id, entry));
            }
        }
    }

    /** Restores the optimizers that a former version saved. */
    public void restore(NativeState state) {
        for (String name : state.names(NAMES)) {
            state.take(name)
                    .ifPresent(entry ->
                            optimizers.put(((Value.Int) entry.about()).value(), HostedOptimizer.restored(entry)));
        }
    }
}
