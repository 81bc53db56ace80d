package io.waybill.autograd.call;

import io.waybill.api.Value;
import io.waybill.api.tensor.SparseTensor;
import io.waybill.api.tensor.Tensor;
import java.util.ArrayList;
import java.util.List;

/**
 * The tensors of a message, some of which are replaced by live ones.
 *
 * <p><b>Threads.</b> One. <b>Ownership.</b> Holds a count of each added tensor, until {@link #take} or
 * {@link #release}.
 */
final class ReplacedTensors {

    private final List<Tensor> arrived;
    private final Tensor[] replaced;

    ReplacedTensors(List<Tensor> arrived) {
        this.arrived = arrived;
        this.replaced = new Tensor[arrived.size()];
    }

    /**
     * Adds a live tensor, and takes ownership of its count.
     *
     * @param original the received tensor, or the values of {@code whole}
     * @param whole the received sparse tensor; null for a dense one
     * @param live result of {@code NativeTensors.describe}
     */
    void put(Tensor original, SparseTensor whole, Value live) {
        if (live instanceof Value.OfSparse sparse) {
            put(original, sparse.value().values());
            put(whole.indices(), sparse.value().indices());
        } else {
            put(original, ((Value.OfTensor) live).value());
        }
    }

    private void put(Tensor original, Tensor live) {
        for (int i = 0; i < replaced.length; i++) {
            if (arrived.get(i) == original && replaced[i] == null) {
                replaced[i] = live;
                return;
            }
        }
        live.storage().release(); // indices that two sparse tensors share
    }

    /** Returns all tensors, each with a count of its storage; a received tensor gets an additional one. */
    List<Tensor> take() {
        List<Tensor> all = new ArrayList<>(replaced.length);
        for (int i = 0; i < replaced.length; i++) {
            if (replaced[i] == null) {
                arrived.get(i).storage().retain();
                all.add(arrived.get(i));
            } else {
                all.add(replaced[i]);
                replaced[i] = null;
            }
        }
        return all;
    }

    /** Releases the added tensors that were not taken. */
    void release() {
        for (int i = 0; i < replaced.length; i++) {
            if (replaced[i] != null) {
                replaced[i].storage().release();
                replaced[i] = null;
            }
        }
    }
}
