package io.waybill.kept;

import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import io.waybill.rref.id.RRefId;
import java.util.List;

/**
 * A value as it is written and read.
 *
 * <p><b>Ownership.</b> One that was read brings one count of each storage, which is the reader's.
 *
 * @param id the reference
 * @param type of the value, as its creator named it
 * @param payload its bytes, as a response to a fetch has them
 * @param tensors that the payload refers to, in host memory
 */
public record KeptValue(RRefId id, String type, byte[] payload, List<Tensor> tensors) {

    public KeptValue {
        tensors = List.copyOf(tensors);
    }

    /** The storages of the tensors, each once, in the order of their first tensors. */
    public List<Storage> storages() {
        return tensors.stream().map(Tensor::storage).distinct().toList();
    }
}
