package io.waybill.worker;

import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.PolledTasks;
import io.waybill.exchange.InnerRequests;
import io.waybill.worker.poll.Poller;
import io.waybill.worker.serve.RequestDispatcher;

/**
 * What a worker does when its handlers change. A registry may outlive many workers, so each takes its own out again.
 *
 * <p><b>Threads.</b> Any.
 */
record HandlerChanges(InnerRequests inner, RequestDispatcher serving, Poller poller)
        implements HandlerRegistry.Listener {

    @Override
    public void changed() {
        inner.signal();
        poller.wake();
    }

    @Override
    public void roomCame() {
        inner.signal();
        serving.roomCame();
        poller.wake();
    }

    @Override
    public PolledTasks.Polling polling() {
        return poller.handlers();
    }
}
