package io.waybill.autograd.graph;

import io.waybill.torch.OperatorEvents;
import java.util.List;
import org.bytedeco.pytorch.Tensor;

/**
 * What a backward pass of one worker reports.
 *
 * <p><b>Threads.</b> The one that gave the pass what it needed for this, or one that did so at the same moment; one callback at a time, and without
 * locks of the context. A callback may call the pass. An exception of {@link #received} fails the pass; others are thrown to the caller of the pass.
 */
public interface PassListener {

    /**
     * The gradients for a message that was received are complete: they go to its sender.
     *
     * @param gradients one for each tensor of the message that required grad, in its order. Undefined ones are zeros in a {@link PassMode#FAST} pass,
     *     and undefined tensors in a {@link PassMode#SMART} one. They are the pass's, and freed when the callback returns
     */
    void received(RecvId recv, List<Tensor> gradients);

    /** The gradients for a message are complete, as with {@link #received}, and what is left are gradients of leaves, which are complete, too. */
    default void receivedLast(RecvId recv, List<Tensor> gradients) {
        received(recv, gradients);
    }

    /**
     * The gradients for the only message that a {@linkplain BackwardPass#link link} leads to are complete: they go to its sender, and with them the pass.
     *
     * @param gradients as for {@link #received}
     */
    default void passOn(RecvId recv, List<Tensor> gradients) {
        received(recv, gradients);
    }

    /** Returns whether the calling thread may compute only briefly. Asked when it begins to compute. */
    default boolean isBrief() {
        return false;
    }

    /** Runs the rest of a computation on a thread that may take long. What it throws fails the pass. */
    default void handOver(Runnable rest) {
        rest.run();
    }

    /** Returns the observation of the operators that the calling thread runs, which it closes; null when nothing wants them. Asked for each node. */
    default OperatorEvents.Observation observe() {
        return null;
    }

    /** Everything in the pass was computed, and all callbacks of {@link #received} have returned. */
    void done();

    /**
     * The pass failed: nothing more is computed. What was accumulated into gradients stays.
     *
     * @param cause a {@link BackwardException}, or what a callback threw
     */
    void failed(Throwable cause);
}
