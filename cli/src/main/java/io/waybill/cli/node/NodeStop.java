package io.waybill.cli.node;

import io.waybill.api.RejectedMessageException;

/** What ends a node when an operator asks for it. Called on any thread. */
@FunctionalInterface
public interface NodeStop {

    /** What becomes of the node when it has ended. */
    enum Then {
        STAY_STOPPED,
        START_AGAIN
    }

    /**
     * Begins to end the node, and does not wait.
     *
     * @throws RejectedMessageException when the node can't be ended in this way; the text is for the operator
     */
    void begin(Then then) throws RejectedMessageException;
}
