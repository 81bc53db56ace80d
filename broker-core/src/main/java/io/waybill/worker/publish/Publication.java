package io.waybill.worker.publish;

import io.waybill.tensor.Plan;
import io.waybill.wire.MessageBuffer;
import io.waybill.worker.peer.PeerLink;

/**
 * A message on its way into a queue: how its record is composed, and what follows when that is published. {@link QueueAppender} calls the
 * methods in the order in which they stand here.
 *
 * <p><b>Threads.</b> Belongs to the thread that publishes it.
 *
 * <p><b>Errors.</b> Whatever {@link #compose} throws takes the message back. What the methods behind it throw is reported and counted, and
 * keeps none of the others from being called.
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

    // ---- behind the append

    /** Counts the message. Under the lock of the appender. */
    default void count(int recordBytes) {}

    /** Lets the thread that checks deadlines know of its deadline. */
    default void expectOutcome() {}

    /** Reports it to the listeners for events. */
    default void report() {}
}
