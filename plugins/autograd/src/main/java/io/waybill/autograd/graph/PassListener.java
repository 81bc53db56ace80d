package io.waybill.autograd.graph;

import io.waybill.torch.OperatorEvents;
import java.util.List;
import org.bytedeco.pytorch.Tensor;

/**
 * Listener for a backward pass of one worker.
 *
 * <p><b>Threads.</b> The thread that provided the missing input, or a concurrent one; one callback at a time, and
 * without locks of the context. A callback may call the pass. An exception of {@link #received} fails the pass; others
 * are thrown to the caller of the pass.
 */
public interface PassListener {

    /**
     * Called when the gradients for a received message are complete: they belong to its sender.
     *
     * @param gradients one for each tensor of the message that required grad, in its order. Undefined ones are zeros in
     *     a {@link PassMode#FAST} pass, and undefined tensors in a {@link PassMode#SMART} one. The pass owns them, and
     *     frees them when the callback returns
     */
    void received(RecvId recv, List<Tensor> gradients);

    /** Called like {@link #received}, if all remaining gradients are of leaves and complete, too. */
    default void receivedLast(RecvId recv, List<Tensor> gradients) {
        received(recv, gradients);
    }

    /**
     * Called when the gradients for the only message of a {@linkplain BackwardPass#link link} are complete: they, and
     * the pass, belong to its sender.
     *
     * @param gradients as for {@link #received}
     */
    default void passOn(RecvId recv, List<Tensor> gradients) {
        received(recv, gradients);
    }

    /** Returns whether the calling thread may compute only briefly. Called when it begins to compute. */
    default boolean isBrief() {
        return false;
    }

    /** Runs the rest of a computation on a thread that may take long. An exception fails the pass. */
    default void handOver(Runnable rest) {
        rest.run();
    }

    /**
     * Returns the observation of the operators that the calling thread runs, which the caller closes; null if there is
     * no observer. Called for each node.
     */
    default OperatorEvents.Observation observe() {
        return null;
    }

    /** Called when the computation is complete, and all callbacks of {@link #received} have returned. */
    void done();

    /**
     * Called when the pass failed: the computation stops, and accumulated gradients stay.
     *
     * @param cause a {@link BackwardException}, or an exception of a callback
     */
    void failed(Throwable cause);
}
