package io.waybill.replay.run;

import io.waybill.api.CallException;
import io.waybill.api.RRef;
import io.waybill.api.tensor.Tensor;
import java.util.List;
import java.util.Optional;

/**
 * Encoded value that the replayed worker owns, or the reason why it could not be created. Holds one count of each
 * tensor's storage.
 *
 * @param failure empty if there is a value
 */
record ReplayedValue(
        byte[] payload, List<Tensor> tensors, List<? extends RRef> references, Optional<CallException> failure) {

    static ReplayedValue failed(CallException why) {
        return new ReplayedValue(new byte[0], List.of(), List.of(), Optional.of(why));
    }

    /** Adds one count to each tensor's storage. */
    List<Tensor> retainTensors() {
        tensors.forEach(tensor -> tensor.storage().retain());
        return tensors;
    }

    void release() {
        tensors.forEach(tensor -> tensor.storage().release());
    }
}
