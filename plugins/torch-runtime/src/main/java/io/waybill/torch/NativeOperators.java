package io.waybill.torch;

import io.waybill.api.ErrorCode;
import io.waybill.api.Invocation;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Value;
import java.util.random.RandomGenerator;
import org.osgi.annotation.versioning.ProviderType;

/**
 * Runs operators and functions of scripts on live tensors, by the rules of a {@code SCRIPT_CALL}: a service of script-ops.
 *
 * <p><b>Threads.</b> Any. A function takes as long as it runs.
 */
@ProviderType
public interface NativeOperators {

    /**
     * Runs the operator or function that the call names. Tensors without a native side are taken by their bytes, which libtorch holds as
     * long as the graph needs them.
     *
     * @return the result; each tensor of it carries its native side and brings one count of its storage, which the caller releases
     * @throws RejectedMessageException as a call would be, and {@link ErrorCode#HANDLER_GONE} when this version of script-ops has left
     */
    Value run(Invocation call) throws RejectedMessageException;

    /**
     * Does the same with given random numbers: the seed of an operator that draws some is the next of them. A handler passes
     * {@code Outbox.random()}, so that a replay draws the same; {@link #run(Invocation)} takes numbers that no replay repeats.
     *
     * @param random asked only if the operator draws random numbers
     */
    Value run(Invocation call, RandomGenerator random) throws RejectedMessageException;
}
