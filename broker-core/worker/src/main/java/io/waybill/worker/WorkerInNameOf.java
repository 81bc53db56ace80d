package io.waybill.worker;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.ErrorKind;
import io.waybill.api.MessageId;
import io.waybill.api.broker.Broker;
import io.waybill.api.broker.JoinedWorker;
import io.waybill.api.handler.MessageHandler;
import io.waybill.dispatch.AccessPolicies;
import io.waybill.dispatch.Provider;
import io.waybill.home.Home;
import io.waybill.home.JoinOptions;
import io.waybill.worker.poll.NeighbourRings;
import java.io.IOException;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.OptionalInt;

/** A worker that another one joined for an owner. Thread-safe. */
final class WorkerInNameOf implements JoinedWorker {

    private final Worker worker;
    private final Broker broker;
    private final NeighbourRings neighbours;

    private WorkerInNameOf(Worker worker, Provider owner, NeighbourRings neighbours) {
        this.worker = worker;
        this.neighbours = neighbours;
        this.broker = worker.brokers().open(owner);
        neighbours.add(worker.directory().path(), worker.parts.waiting, worker.parts.poller);
    }

    /**
     * Settings and objects that a joined worker has from the worker that joined it.
     *
     * @param neighbours all workers that it has joined
     */
    record Origin(Home home, WorkerSettings settings, AccessPolicies policies, NeighbourRings neighbours) {

        JoinedWorker join(Provider owner, String name, OptionalInt id, List<String> keys, MessageHandler handler) {
            Waybill joining = Waybill.connect(home, name)
                    .settings(settings.toBuilder()
                            .role(WorkerSettings.Role.SERVES)
                            .build())
                    .options(JoinOptions.defaults()
                            .withId(id.orElse(JoinOptions.ANY_ID))
                            .withVersion(owner.version()))
                    .with(policies.asOne());
            keys.forEach(key -> joining.with(key, handler));
            try {
                return new WorkerInNameOf(joining.join(), owner, neighbours);
            } catch (IOException e) {
                throw new CallException(ErrorKind.UNKNOWN_ERROR, ErrorCode.REFUSED, MessageId.NONE, e.getMessage(), e);
            }
        }
    }

    @Override
    public Broker broker() {
        return broker;
    }

    @Override
    public String shutdown(Duration limit, Collection<String> others) {
        return worker.shutdown(limit, others);
    }

    @Override
    public void sendAndPoll(Runnable sends) {
        neighbours.sendAndPoll(sends);
    }

    @Override
    public void close() {
        close(worker.parts.settings.drainLimit());
    }

    @Override
    public void abandon() {
        close(Duration.ZERO);
    }

    private void close(Duration limit) {
        neighbours.remove(worker.directory().path(), worker.parts.waiting);
        worker.closeSafely(limit);
    }
}
