package io.waybill.tensor;

import io.waybill.api.tensor.Tensor;
import java.util.List;

/** Operations on counts of storages, some of which may be of a bundle's own class. */
public final class Storages {

    private Storages() {}

    /**
     * Releases one count of the storage of each tensor, even if another release throws.
     *
     * @throws RuntimeException or {@link Error}: the first exception of a storage, with the others suppressed
     */
    public static void releaseAll(List<Tensor> tensors) {
        Throwable first = null;
        for (int i = 0; i < tensors.size(); i++) {
            try {
                tensors.get(i).storage().release();
            } catch (RuntimeException | Error e) {
                if (first == null) {
                    first = e;
                } else if (first != e) {
                    first.addSuppressed(e);
                }
            }
        }
        if (first instanceof Error error) {
            throw error;
        } else if (first != null) {
            throw (RuntimeException) first;
        }
    }
}
