package io.waybill.worker;

import io.waybill.host.failure.CloseSteps;
import java.util.ArrayDeque;
import java.util.Deque;

/**
 * Resources opened while a worker joins: closed in reverse order when a later step fails.
 *
 * <p><b>Threads.</b> Belongs to the thread that joins.
 */
final class Opened {

    private final Deque<AutoCloseable> toClose = new ArrayDeque<>();

    /** Adds a resource, and returns it. */
    <T extends AutoCloseable> T add(T opened) {
        toClose.push(opened);
        return opened;
    }

    /** Closes all resources after a failure, which gets their errors as suppressed. */
    void closeAfter(Throwable failure) {
        CloseSteps steps = new CloseSteps();
        toClose.forEach(each -> steps.attempt(each::close));
        toClose.clear();
        steps.suppressIn(failure);
    }
}
