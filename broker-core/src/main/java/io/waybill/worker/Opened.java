package io.waybill.worker;

import io.waybill.host.failure.CloseSteps;
import java.util.ArrayDeque;
import java.util.Deque;

/**
 * What was opened on the way to a worker: closed in reverse order when the rest can't be had.
 *
 * <p><b>Threads.</b> Belongs to the thread that joins.
 */
final class Opened {

    private final Deque<AutoCloseable> toClose = new ArrayDeque<>();

    /** Remembers it. */
    <T extends AutoCloseable> T add(T opened) {
        toClose.push(opened);
        return opened;
    }

    /** Closes everything, because of this failure. */
    void closeAfter(Throwable failure) {
        CloseSteps steps = new CloseSteps();
        toClose.forEach(each -> steps.attempt(each::close));
        toClose.clear();
        steps.suppressIn(failure);
    }
}
