package io.waybill.cli.node;

import io.waybill.api.RejectedMessageException;

/** Action that stops a node at an operator's request. Called on any thread. */
@FunctionalInterface
public interface NodeStop {

    /** State of the node after the stop. */
    enum Then {
        STAY_STOPPED,
        START_AGAIN
    }

    /**
     * Begins to stop the node, and does not wait.
     *
     * @throws RejectedMessageException if the node can't be stopped in this way; the text is for the operator
     */
    void begin(Then then) throws RejectedMessageException;
}
