package io.waybill.rref.status;

import io.waybill.rref.References;
import io.waybill.rref.control.ControlMessage;

/** Listener for events that an operator should see. Called without the lock of {@link References}. */
public interface ReferenceListener {

    /** Called when the forks of a worker that died were released, after the grace period. */
    void onReleasedForDead(Holder dead, int forks);

    /** Called when a control message was not acknowledged after all retries; it is retried slowly. */
    void onOverdue(ControlMessage message, int to, String why);

    /**
     * Called when the worker closes while another worker still has a fork of its value, which is lost; while it has a
     * fork itself that was not released; or while a fork that it made was not reported.
     */
    void onLeak(ReferenceStatus leaked);

    /**
     * Called when the worker closes, with the number of values that stay on the disk for the holders of their forks.
     */
    void onKept(int values);
}
