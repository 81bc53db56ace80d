package io.waybill.autograd.pass;

import io.waybill.api.CallException;
import io.waybill.autograd.message.BackwardMessage;
import java.util.function.Consumer;

/**
 * Listener for the end of a pass in this worker, or of its part of a discovery. One of the methods is called, once, on
 * any thread.
 */
public interface PassEnd {

    /** Called when the work has completed, here and in the workers that were called for it. */
    void done();

    /** Called when the work failed, here or elsewhere. */
    void failed(CallException failure);

    /** Returns whether the message that {@link #done} sends may carry gradients for a message from this worker. */
    default boolean mayReturnTo(int worker) {
        return false;
    }

    /**
     * Keeps gradients for {@link #done}, or until a failure. Only if it {@linkplain #mayReturnTo may} carry them, and
     * once.
     *
     * @param gradients gradients, whose tensors change ownership
     */
    default void keep(BackwardMessage.Encoded gradients) {
        gradients.release();
    }

    /** Creates a listener from two functions. */
    static PassEnd of(Runnable done, Consumer<CallException> failed) {
        return new PassEnd() {
            @Override
            public void done() {
                done.run();
            }

            @Override
            public void failed(CallException failure) {
                failed.accept(failure);
            }
        };
    }
}
