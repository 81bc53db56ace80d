package io.waybill.autograd.context;

import io.waybill.api.CallException;
import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.ResponseListener;
import io.waybill.api.WorkerInfo;
import io.waybill.api.broker.Broker;
import io.waybill.autograd.message.ContextMessage;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.List;
import java.util.function.Consumer;

/**
 * Releases contexts: here, and at every worker that knows of them, which notify those that they know of. Any of them may begin.
 *
 * <p><b>Threads.</b> Any; requests are repeated by the broker's timers.
 */
public final class CleanUp {

    private static final Logger LOG = System.getLogger(CleanUp.class.getName());

    private static final int MAX_ATTEMPTS = 20;
    private static final Duration TIMEOUT = Duration.ofSeconds(5);
    private static final Duration FIRST_DELAY = Duration.ofMillis(20);
    private static final Duration MAX_DELAY = Duration.ofSeconds(1);

    private final Broker broker;
    private final ContextTable contexts;
    private final Consumer<AutogradContext> ending;

    /** @param ending ends the passes and the graph of a context that was taken out */
    public CleanUp(Broker broker, ContextTable contexts, Consumer<AutogradContext> ending) {
        this.broker = broker;
        this.contexts = contexts;
        this.ending = ending;
    }

    /** Releases a context everywhere. Does nothing when it is not here. Does not wait for the others. */
    public void release(long contextId) {
        contexts.remove(contextId).ifPresent(context -> {
            ending.accept(context);
            int self = broker.self().worker().id();
            for (int worker : context.knownWorkers()) {
                if (worker != self) {
                    new Attempts(contextId, worker).send();
                }
            }
        });
    }

    /** The requests to one worker about one context, until one arrives. */
    private final class Attempts implements ResponseListener, Runnable {

        private final long contextId;
        private final int worker;
        private int sent;
        private Duration delay = FIRST_DELAY;

        Attempts(long contextId, int worker) {
            this.contextId = contextId;
            this.worker = worker;
        }

        void send() {
            sent++;
            Request request = Request.raw(
                            WorkerInfo.address(worker),
                            MessageType.CLEANUP_AUTOGRAD_CONTEXT_REQ,
                            ContextMessage.encode(contextId),
                            List.of())
                    .timeout(TIMEOUT);
            try {
                broker.caller().call(request, this);
            } catch (CallException e) {
                onFailure(e);
            }
        }

        @Override
        public void run() {
            send();
        }

        @Override
        public void onResponse(Response response) {
            // it is released there
        }

        @Override
        public void onFailure(CallException failure) {
            switch (failure.code()) {
                case WORKER_LOST, UNKNOWN_WORKER, UNKNOWN_TYPE, CLOSED -> {
                    // its contexts have ended with it, or it never had any
                }
                default -> repeat(failure);
            }
        }

        private void repeat(CallException failure) {
            if (sent >= MAX_ATTEMPTS) {
                LOG.log(
                        Level.WARNING,
                        "Context " + contextId + " could not be released at worker " + worker + " in " + sent
                                + " attempts: it remains there until this worker ends; the last error: "
                                + failure.getMessage());
                return;
            }
            try {
                broker.schedule(delay, this);
                delay = delay.multipliedBy(2).compareTo(MAX_DELAY) < 0 ? delay.multipliedBy(2) : MAX_DELAY;
            } catch (IllegalStateException e) {
                LOG.log(Level.DEBUG, "The worker ends, and its contexts with it", e);
            }
        }
    }
}
