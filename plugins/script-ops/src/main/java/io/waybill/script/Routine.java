package io.waybill.script;

import org.bytedeco.pytorch.IValueVector;

/**
 * Routine that libtorch runs on a stack: an overload of an operator, or a function of a script. Safe for several
 * threads.
 */
interface Routine {

    Signature signature();

    /** Replaces the arguments on the stack with the results. */
    void run(IValueVector stack);
}
