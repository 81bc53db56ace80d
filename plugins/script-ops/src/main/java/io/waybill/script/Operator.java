package io.waybill.script;

import io.waybill.api.ErrorCode;
import io.waybill.api.Invocation;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Value;
import java.util.List;
import java.util.Map;

/**
 * All overloads of one name that a message can call. Immutable, and safe for several threads.
 *
 * @param name as the call gave it
 * @param overloads in the order in which they are tried: the dispatcher's first, each in the order of registration
 */
record Operator(OperatorName name, List<Overload> overloads) {

    private static final String SEEDING = "aten::manual_seed";

    /**
     * Returns whether a run without a result has the response {@code None}. As in PyTorch no other operator without a
     * result can be called, but PyTorch seeds before it detects this, and a caller has no other way to seed a node.
     */
    boolean respondsNothing(Overload overload) {
        return name.qualified().equals(SEEDING) && overload.signature().returnCount() == 0;
    }

    /**
     * The overload that the arguments fit best: the first that takes them as they are; when there is none, the one that costs the
     * fewest conversions, and the first among equals.
     *
     * @throws RejectedMessageException {@link ErrorCode#NO_MATCHING_SCHEMA}, with every schema and what is wrong with it
     */
    Overload choose(Invocation call) throws RejectedMessageException {
        List<Value> positional = call.positional();
        Map<String, Value> named = call.named();
        Overload best = null;
        int least = Integer.MAX_VALUE;
        for (int i = 0; i < overloads.size(); i++) {
            Overload overload = overloads.get(i);
            int cost = overload.signature().fit(positional, named);
            if (cost == ParameterType.EXACT) {
                return overload;
            }
            if (cost != ParameterType.NO_FIT && cost < least) {
                best = overload;
                least = cost;
            }
        }
        if (best == null) {
            throw Signature.noMatch(
                    name.toString(), overloads.stream().map(Overload::signature).toList(), call);
        }
        return best;
    }
}
