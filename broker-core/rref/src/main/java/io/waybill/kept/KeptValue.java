package io.waybill.kept;

import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import io.waybill.rref.id.RRefId;
import java.util.List;

/**
 * Value of a reference, to be written to or read from a file.
 *
 * <p><b>Ownership.</b> The reader of a value owns one count of each storage.
 *
 * @param id the reference
 * @param type type of the value, as its creator named it
 * @param payload bytes of the value, as in a response to a fetch
 * @param tensors tensors that the payload refers to, in host memory
 */
public record KeptValue(RRefId id, String type, byte[] payload, List<Tensor> tensors) {

    public KeptValue {
        tensors = List.copyOf(tensors);
    }

    /** Returns the storages of the tensors, each once, in the order of their first tensors. */
    public List<Storage> storages() {
        return tensors.stream().map(Tensor::storage).distinct().toList();
    }
}
