package io.waybill.torch;

import java.util.List;
import org.osgi.annotation.versioning.ConsumerType;

/**
 * Notified of the operators that libtorch runs, with those that they run inside: see {@link OperatorEvents}.
 *
 * <p><b>Threads.</b> Any, several at a time.
 */
@ConsumerType
public interface OperatorListener {

    /** Returns where the operators go that the calling thread is about to run; null when they are of no interest. */
    Sink begin();

    /** Receiver of the operators of one thread. An exception has no effect on the operator. */
    @ConsumerType
    interface Sink {

        /** Returns whether {@link #begun} needs the sizes of tensors. */
        boolean needsSizes();

        /**
         * An operator begins.
         *
         * @param name such as {@code aten::mul}
         * @param sizes of the tensors among its arguments that have dimensions; none unless they are needed
         * @return a number of the listener's for its end
         */
        int begun(String name, List<List<Long>> sizes);

        /** An operator ends. Of one that throws, too. */
        void ended(int number);
    }
}
