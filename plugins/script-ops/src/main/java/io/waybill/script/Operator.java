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
 * @param name name in the call
 * @param overloads in the order in which they are tried: the dispatcher's first, each in the order of registration
 */
record Operator(OperatorName name, List<Overload> overloads) {

    private static final String SEEDING = "aten::manual_seed";

    /**
     * Returns whether a run without a result has the response {@code None}. Like in PyTorch, no other operator without
     * a result can be called, but PyTorch seeds before it detects this, and a caller has no other way to seed a node.
     */
    boolean respondsNothing(Overload overload) {
        return name.qualified().equals(SEEDING) && overload.signature().returnCount() == 0;
    }

    /**
     * Returns the overload that fits the arguments best: the first one without conversions; otherwise the first one
     * with the lowest cost of conversions.
     *
     * @throws RejectedMessageException {@link ErrorCode#NO_MATCHING_SCHEMA}, with every schema and the reason why it
     *     does not fit
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
