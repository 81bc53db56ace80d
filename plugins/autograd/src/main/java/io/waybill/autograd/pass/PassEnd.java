package io.waybill.autograd.pass;

import io.waybill.api.CallException;
import io.waybill.autograd.message.BackwardMessage;
import java.util.function.Consumer;

/** Waits for the end of a pass in this worker, or of its part of a discovery. One of the methods is called, once, on any thread. */
public interface PassEnd {

    /** All is done, here and in the workers that were called for it. */
    void done();

    /** It failed, here or elsewhere. */
    void failed(CallException failure);

    /** Returns whether gradients for a message from this worker may go with what {@link #done} sends. */
    default boolean mayReturnTo(int worker) {
        return false;
    }

    /**
     * Keeps gradients for {@link #done}, or until it failed. Only if they {@linkplain #mayReturnTo may} go with it, and once.
     *
     * @param gradients whose tensors are taken over
     */
    default void keep(BackwardMessage.Encoded gradients) {
        gradients.release();
    }

    /** Creates one of two functions. */
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
