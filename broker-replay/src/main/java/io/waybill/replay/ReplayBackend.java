package io.waybill.replay;

import io.waybill.api.Caller;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.ResponseListener;
import io.waybill.api.Rpc;
import io.waybill.api.WorkerInfo;
import io.waybill.api.broker.Incarnation;
import io.waybill.api.broker.ReplayRun;
import io.waybill.api.metrics.HomeMetrics;
import io.waybill.broker.BrokerBackend;
import io.waybill.home.Peer;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The worker behind the brokers of replayed bundles: a single worker in its first incarnation, without timers. A call
 * outside of a handler is refused, because it can't be matched with a recorded one; a scheduled task does not run.
 * Thread-safe.
 */
final class ReplayBackend implements BrokerBackend {

    private static final String OUTSIDE = "the outcome of a call that its bundle made outside of a handler";

    private final Incarnation self;
    private final ReplayRun replay;
    private final AtomicLong ids = new AtomicLong();

    /** @param replay records missing inputs of handlers */
    ReplayBackend(WorkerInfo worker, ReplayRun replay) {
        this.replay = replay;
        this.self = new Incarnation(worker, 1);
    }

    @Override
    public Incarnation self() {
        return self;
    }

    @Override
    public Caller caller() {
        return new Caller() {
            @Override
            public Response call(Request request) {
                throw refused();
            }

            @Override
            public CompletableFuture<Response> callAsync(Request request) {
                throw refused();
            }

            @Override
            public long call(Request request, ResponseListener listener) {
                throw refused();
            }
        };
    }

    @Override
    public Rpc rpc() {
        throw refused();
    }

    private IllegalStateException refused() {
        replay.lacks(OUTSIDE);
        return new IllegalStateException(
                "a replay has no calls outside of a handler: a handler that is to be replayed calls through its outbox");
    }

    @Override
    public Optional<ReplayRun> replay() {
        return Optional.of(replay);
    }

    @Override
    public void readUnrecorded(String what) {
        replay.lacks(what);
    }

    /** Returns no figures, because no worker is live. */
    @Override
    public Optional<HomeMetrics> metrics() {
        return Optional.of(() -> {
            replay.lacks("what HomeMetrics.read() returned");
            return List.of();
        });
    }

    @Override
    public boolean mayWait() {
        return true;
    }

    @Override
    public void await(Future<?> future) throws InterruptedException {
        try {
            future.get();
        } catch (ExecutionException | CancellationException e) {
            // the caller reads the outcome
        }
    }

    /** Returns none. Also compared for subscriptions, on threads that run no handler, so that it notes nothing. */
    @Override
    public List<Peer> peers() {
        return List.of();
    }

    @Override
    public long nextId() {
        replay.lacks("the id that Broker.nextId() returned");
        return (long) self.worker().id() << 48 | ids.getAndIncrement();
    }

    @Override
    public boolean runsTimers() {
        return false;
    }
}
