package io.waybill.rref.status;

import io.waybill.rref.References;
import io.waybill.rref.control.ControlMessage;

/** Hears what an operator should read. Called without the lock of {@link References}. */
public interface ReferenceListener {

    /** The forks of a worker that died were given back, after the grace period. */
    void onReleasedForDead(Holder dead, int forks);

    /** A control message was not acknowledged after all retries; it is sent again now and then. */
    void onOverdue(ControlMessage message, int to, String why);

    /**
     * The worker closes while another worker still has a fork of its value, which goes; while it has a fork itself that was not given back; or
     * while a fork that it made was not reported.
     */
    void onLeak(ReferenceStatus leaked);

    /** The worker closes, and so many values stay on the disk for those who have forks of them. */
    void onKept(int values);
}
