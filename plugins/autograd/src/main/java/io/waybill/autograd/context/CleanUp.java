package io.waybill.autograd.context;

import io.waybill.api.CallException;
import io.waybill.api.MessageType;
import io.waybill.api.broker.Broker;
import io.waybill.autograd.message.ContextMessage;
import io.waybill.torch.NativeState;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * Releases contexts in this worker and in every worker that knows them, each of which notifies the others that it
 * knows. Any worker may begin.
 *
 * <p><b>Threads.</b> Any.
 */
public final class CleanUp {

    private static final Logger LOG = System.getLogger(CleanUp.class.getName());

    private final Broker broker;
    private final ContextTable contexts;
    private final Notifications notifications;
    private final Consumer<AutogradContext> ending;
    private final Optional<NativeState> state;

    /**
     * Creates an object for one worker.
     *
     * @param ending closes the passes and the graph of a removed context
     * @param state state in which a former version records releases
     */
    public CleanUp(
            Broker broker,
            ContextTable contexts,
            Notifications notifications,
            Consumer<AutogradContext> ending,
            Optional<NativeState> state) {
        this.broker = broker;
        this.contexts = contexts;
        this.notifications = notifications;
        this.ending = ending;
        this.state = state;
    }

    /**
     * Releases a context in all workers, without waiting for them. If it does not exist here, a later message does not
     * create it.
     */
    public void release(long contextId) {
        release(contextId, WorkerIds.UNKNOWN);
    }

    /** Releases the contexts that were released through a version of this bundle that is no longer active. */
    public void releaseLeftBehind() {
        state.ifPresent(kept -> ContextArchive.takeToRelease(kept).forEach(this::release));
    }

    /** Releases a context that another worker has released: that worker is not notified, all others are. */
    public void releasedBy(int other, long contextId) {
        release(contextId, other);
    }

    private void release(long contextId, int other) {
        contexts.remove(contextId).ifPresent(context -> {
            ending.accept(context);
            int self = broker.self().worker().id();
            for (int worker : context.knownWorkers()) {
                if (worker != self && worker != other) {
                    notifications.send(
                            worker,
                            MessageType.CLEANUP_AUTOGRAD_CONTEXT_REQ,
                            ContextMessage.encode(contextId),
                            failure -> failed(contextId, worker, failure));
                }
            }
        });
    }

    private static void failed(long contextId, int worker, CallException failure) {
        if (!Notifications.isEnd(failure)) { // otherwise its contexts have ended with it, or it never had any
            LOG.log(
                    Level.WARNING,
                    "Context " + contextId + " could not be released at worker " + worker
                            + ", which releases it when it asks for it; the last error: " + failure.getMessage());
        }
    }
}
