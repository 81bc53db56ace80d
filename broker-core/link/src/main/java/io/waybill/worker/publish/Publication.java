package io.waybill.worker.publish;

import io.waybill.tensor.Plan;
import io.waybill.wire.MessageBuffer;
import io.waybill.worker.peer.PeerLink;

/**
 * A message until it is published in a queue: composes its record, and takes the steps that follow the append.
 * {@link QueueAppender} calls the methods in the order in which they stand here.
 *
 * <p><b>Threads.</b> Belongs to the thread that publishes it.
 *
 * <p><b>Errors.</b> An exception of {@link #compose} withdraws the message. An exception of a later method is reported
 * and counted, and the other methods are still called.
 */
public interface Publication {

    /** Returns the id of the message. */
    long id();

    /** Returns the link to its receiver. */
    PeerLink to();

    /** Returns the plan of its tensors; null for none. */
    default Plan plan() {
        return null;
    }

    /** Writes the record. Under the lock of the appender. */
    void compose(MessageBuffer record);

    // ---- after the append

    /** Counts the message. Under the lock of the appender. */
    default void count(int recordBytes) {}

    /** Notifies the thread that checks deadlines of its deadline. */
    default void expectOutcome() {}

    /** Reports the message to the listeners for events. */
    default void report() {}
}
