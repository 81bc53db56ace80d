package io.waybill.autograd.pass;

import io.waybill.api.CallException;

/**
 * Counter of the requests in one step of a discovery.
 *
 * <p><b>Threads.</b> Any.
 */
final class Wave implements PassEnd {

    private final PassEnd end;
    private int left; // guarded by this
    private boolean isOver; // guarded by this

    /** Creates a counter for this many requests, and for {@link #done} of the thread that sends them. */
    Wave(int requests, PassEnd end) {
        this.end = end;
        this.left = requests + 1; // and one for the thread that sends them
    }

    @Override
    public void done() {
        synchronized (this) {
            if (--left > 0 || isOver) {
                return;
            }
            isOver = true;
        }
        end.done();
    }

    @Override
    public void failed(CallException failure) {
        synchronized (this) {
            if (isOver) {
                return;
            }
            isOver = true;
        }
        end.failed(failure);
    }
}
