package io.waybill.torch;

import io.waybill.api.ErrorCode;
import io.waybill.api.Invocation;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Value;
import java.util.random.RandomGenerator;
import org.osgi.annotation.versioning.ProviderType;

/**
 * Runner of operators and functions of scripts on live tensors, by the rules of a {@code SCRIPT_CALL}: a service of
 * script-ops.
 *
 * <p><b>Threads.</b> Any. A call lasts as long as the function runs.
 */
@ProviderType
public interface NativeOperators {

    /**
     * Runs the operator or function that the call names. For tensors without a native side it uses their bytes, which
     * libtorch holds while the graph needs them.
     *
     * @return the result; each of its tensors carries its native side and has one count of its storage, which the
     *     caller releases
     * @throws RejectedMessageException under the conditions of a call, and {@link ErrorCode#HANDLER_GONE} if this
     *     version of script-ops is no longer active
     */
    Value run(Invocation call) throws RejectedMessageException;

    /**
     * Runs a call with given random numbers: the next of them is the seed of an operator that draws some. A handler
     * passes {@code Outbox.random()}, so that a replay has the same numbers; {@link #run(Invocation)} uses numbers that
     * no replay repeats.
     *
     * @param random used only if the operator draws random numbers
     */
    Value run(Invocation call, RandomGenerator random) throws RejectedMessageException;
}
