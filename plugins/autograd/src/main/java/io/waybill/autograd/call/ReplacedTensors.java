package io.waybill.autograd.call;

import io.waybill.api.Value;
import io.waybill.api.tensor.SparseTensor;
import io.waybill.api.tensor.Tensor;
import java.util.ArrayList;
import java.util.List;

/**
 * The tensors of a message with live ones in the place of some.
 *
 * <p><b>Threads.</b> One. <b>Ownership.</b> Holds a count of each tensor that was put in, until {@link #take} or {@link #release}.
 */
final class ReplacedTensors {

    private final List<Tensor> arrived;
    private final Tensor[] replaced;

    ReplacedTensors(List<Tensor> arrived) {
        this.arrived = arrived;
        this.replaced = new Tensor[arrived.size()];
    }

    /**
     * Puts in a live tensor, whose count it takes over.
     *
     * @param original the one that arrived, or the values of {@code whole}
     * @param whole the sparse tensor that arrived; null for a dense one
     * @param live as {@code NativeTensors.describe} returned it
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

    /** Returns all tensors: each brings a count of its storage, those that arrived one more than they had. */
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

    /** Releases what was put in and not taken. */
    void release() {
        for (int i = 0; i < replaced.length; i++) {
            if (replaced[i] != null) {
                replaced[i].storage().release();
                replaced[i] = null;
            }
        }
    }
}
