package io.waybill.autograd.call;

import io.waybill.api.Invocation;
import io.waybill.api.MessageType;
import io.waybill.api.RRef;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Value;
import io.waybill.api.ValueDecoder;
import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.SparseTensor;
import io.waybill.api.tensor.Tensor;
import java.nio.ByteBuffer;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;

/**
 * Finds the sparse tensors of a message, whose list of tensors contains their indices and values separately. Stateless.
 *
 * <p>Only types whose payload consists of values are searched; in other types, indices and values count as separate
 * tensors.
 */
final class SparseParts {

    private SparseParts() {}

    /** Returns the sparse tensors by their values; none if the payload can't be read, which its handler reports. */
    static Map<Tensor, SparseTensor> of(
            MessageType type, ByteBuffer payload, List<Tensor> tensors, List<? extends RRef> references) {
        if (!mayHave(tensors)) {
            return Map.of();
        }
        Map<Tensor, SparseTensor> found = new IdentityHashMap<>();
        try {
            if (isCall(type)) {
                Invocation call = Invocation.decode(payload, tensors, references);
                call.positional().forEach(value -> collect(value, found));
                call.named().values().forEach(value -> collect(value, found));
            } else if (isResult(type)) {
                collect(new ValueDecoder(payload, tensors, references).value(), found);
            }
        } catch (RejectedMessageException e) {
            return Map.of();
        }
        return found;
    }

    private static boolean mayHave(List<Tensor> tensors) {
        for (int i = 0; i < tensors.size(); i++) {
            if (tensors.get(i).dtype() == DType.INT64 && tensors.get(i).dimensions() == 2) {
                return true;
            }
        }
        return false;
    }

    private static boolean isCall(MessageType type) {
        return type == MessageType.SCRIPT_CALL
                || type == MessageType.NAMED_CALL
                || type == MessageType.SCRIPT_REMOTE_CALL;
    }

    private static boolean isResult(MessageType type) {
        return type == MessageType.SCRIPT_RET
                || type == MessageType.NAMED_RET
                || type == MessageType.SCRIPT_RREF_FETCH_RET;
    }

    private static void collect(Value value, Map<Tensor, SparseTensor> found) {
        if (value instanceof Value.OfSparse sparse) {
            found.put(sparse.value().values(), sparse.value());
        } else if (value instanceof Value.Items items) {
            items.values().forEach(each -> collect(each, found));
        } else if (value instanceof Value.Tuple tuple) {
            tuple.values().forEach(each -> collect(each, found));
        } else if (value instanceof Value.Dict dict) {
            dict.entries().forEach((key, each) -> collect(each, found));
        }
    }
}
