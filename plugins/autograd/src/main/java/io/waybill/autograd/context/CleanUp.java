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
 * Releases contexts: here, and at every worker that knows of them, which notify the others that they know of. Any of them may begin.
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
     * @param ending ends the passes and the graph of a context that was taken out
     * @param state where a version that has left notes what was released through it
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
     * Releases a context everywhere. Does not wait for the others. If it is not here, a message of it that comes later does not create it.
     */
    public void release(long contextId) {
        release(contextId, WorkerIds.UNKNOWN);
    }

    /** Releases the contexts that were released through a version of this bundle that had left. */
    public void releaseLeftBehind() {
        state.ifPresent(kept -> ContextArchive.takeToRelease(kept).forEach(this::release));
    }

    /** Releases a context that another worker has released: that one is not notified, and all others are. */
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
        if (!Notifications.isEnd(failure)) { // else its contexts have ended with it, or it never had any
            LOG.log(
                    Level.WARNING,
                    "Context " + contextId + " could not be released at worker " + worker
                            + ", which releases it when it asks for it; the last error: " + failure.getMessage());
        }
    }
}
