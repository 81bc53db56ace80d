package io.waybill.rref.control;

import io.waybill.rref.References;

/** Transport of control messages to other workers. Called without the lock of {@link References}, from any thread. */
@FunctionalInterface
public interface ControlTransport {

    /** Sends a message once; reports the outcome exactly once, before or after this method returns. Must not throw. */
    void send(ControlMessage message, int to, ControlOutcome outcome);
}
