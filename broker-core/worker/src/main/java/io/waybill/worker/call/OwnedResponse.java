package io.waybill.worker.call;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.RRef;
import io.waybill.api.Response;
import io.waybill.api.tensor.Tensor;
import io.waybill.handling.HeldResponse;
import io.waybill.handling.PassedObjects;
import io.waybill.host.failure.ForeignErrors;
import io.waybill.tensor.Storages;
import io.waybill.worker.reference.ReceivedReferences;
import java.nio.ByteBuffer;
import java.util.List;

/**
 * A response that outlives the poll that read it: a copy of the payload, with counts of the tensors' storages and
 * handles of the references.
 */
public final class OwnedResponse extends HeldResponse {

    private final ReceivedReferences references;
    private final List<? extends RRef> passed; // by an interceptor, in place of the recorded ones; null for none

    private OwnedResponse(ResponseView view, byte[] payload, List<Tensor> tensors) {
        super(new Header(view.type(), view.id(), view.from()), payload, tensors, List.of());
        this.passed = view.takePassedReferences();
        this.references = view.takeReferences();
    }

    /**
     * Copies the payload, retains the tensors' storages, and takes the references.
     *
     * @throws CallException when that fails; nothing is retained then
     */
    public static OwnedResponse keep(Response response) {
        ResponseView view = (ResponseView) response;
        List<Tensor> tensors = response.tensors().isEmpty() ? List.of() : List.copyOf(response.tensors());
        if (!view.isRetained()) {
            retain(view.id(), tensors);
        }
        try {
            ByteBuffer source = response.payload();
            byte[] copy = new byte[source.remaining()];
            source.get(source.position(), copy);
            return new OwnedResponse(view, copy, tensors);
        } catch (Throwable e) { // the heap may be full
            throw unkept(view.id(), tensors, e);
        }
    }

    /**
     * Takes a count of the storage of each tensor.
     *
     * @throws CallException when a storage throws, as a storage created by a converter may; no count is taken then
     */
    static void retain(long id, List<Tensor> tensors) {
        int retained = 0;
        try {
            while (retained < tensors.size()) {
                tensors.get(retained).storage().retain();
                retained++;
            }
        } catch (Throwable e) { // the boundary around a storage
            throw unkept(id, tensors.subList(0, retained), e);
        }
    }

    private static CallException unkept(long id, List<Tensor> retained, Throwable e) {
        CallException failure = OutcomeDelivery.unreadable(
                id, ErrorCode.DEVICE_LOST, "it can't be kept: " + ForeignErrors.describe(e), e);
        try {
            Storages.releaseAll(retained);
        } catch (RuntimeException | Error inRelease) {
            failure.addSuppressed(inRelease);
        }
        return failure;
    }

    @Override
    public List<? extends RRef> references() {
        return passed == null ? references.held() : passed;
    }

    @Override
    protected void release() {
        try {
            Storages.releaseAll(tensors());
        } finally {
            references.release();
            if (passed != null) {
                PassedObjects.release(List.of(), passed);
            }
        }
    }
}
