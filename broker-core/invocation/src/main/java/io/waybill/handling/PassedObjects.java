package io.waybill.handling;

import io.waybill.api.RRef;
import io.waybill.api.tensor.Tensor;
import io.waybill.host.failure.ForeignErrors;
import java.util.ArrayList;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Counts and handles of the tensors and references that interceptors pass: acquires, releases and checks them.
 * Stateless.
 */
public final class PassedObjects {

    private static final Logger LOG = LoggerFactory.getLogger(PassedObjects.class);

    private PassedObjects() {}

    /** Releases a count of the storage of each tensor, and closes each reference. Does not throw. */
    public static void release(List<Tensor> tensors, List<? extends RRef> references) {
        for (int i = 0; i < tensors.size(); i++) {
            try {
                tensors.get(i).storage().release();
            } catch (Throwable e) { // the boundary around a storage
                ForeignErrors.warn(LOG, "A storage that an interceptor passed could not be released", e);
            }
        }
        for (int i = 0; i < references.size(); i++) {
            try {
                references.get(i).close();
            } catch (Throwable e) { // the boundary around a reference
                ForeignErrors.warn(LOG, "A reference that an interceptor passed could not be closed", e);
            }
        }
    }

    /** Returns whether the storages have counts left. Acquires and releases a count of each. Does not throw. */
    static boolean areLive(List<Tensor> tensors) {
        for (int i = 0; i < tensors.size(); i++) {
            try {
                tensors.get(i).storage().retain().release();
            } catch (IllegalStateException e) {
                return false;
            } catch (Throwable e) { // the boundary around a storage of a bundle, which is charged where its message is
                // sent
                return true;
            }
        }
        return true;
    }

    /**
     * Requires that storages that were live before an interceptor was called are live after it.
     *
     * @return whether they are live
     */
    static boolean requireLive(boolean wereLive, List<Tensor> tensors) {
        boolean areLive = wereLive && areLive(tensors);
        if (wereLive && !areLive) {
            throw new IllegalStateException(
                    "it released a storage of the message that it had not retained, and that is gone by that");
        }
        return areLive;
    }

    /** Acquires a handle of each reference; all or none. */
    public static List<RRef> handlesOf(List<? extends RRef> references) {
        List<RRef> taken = new ArrayList<>(references.size());
        try {
            for (RRef reference : references) {
                taken.add(reference.retain());
            }
            return List.copyOf(taken);
        } catch (RuntimeException | Error e) {
            release(List.of(), taken);
            throw e;
        }
    }
}
