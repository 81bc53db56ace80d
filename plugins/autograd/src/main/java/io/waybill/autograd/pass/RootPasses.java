package io.waybill.autograd.pass;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.ErrorKind;
import io.waybill.api.MessageId;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.tensor.Tensor;
import io.waybill.autograd.context.AutogradContext;
import io.waybill.torch.NativeTensor;
import io.waybill.torch.NativeTensors;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import org.bytedeco.javacpp.PointerScope;

/**
 * Backward passes that begin in this worker, from roots.
 *
 * <p><b>Threads.</b> Any. <b>Errors.</b> {@link IllegalArgumentException} with PyTorch's text for roots that can't be differentiated.
 */
public final class RootPasses {

    private final Passes passes;
    private final NativeTensors natives;

    public RootPasses(Passes passes, NativeTensors natives) {
        this.passes = passes;
        this.natives = natives;
    }

    /**
     * Runs a pass, and waits for its end in all workers.
     *
     * @throws CallException when it fails
     */
    public void run(AutogradContext context, List<Tensor> roots, boolean keepsGraph, boolean isFast) {
        CompletableFuture<Void> ended = new CompletableFuture<>();
        begin(context, roots, PassOptions.of(isFast, keepsGraph), new PassEnd() {
            @Override
            public void done() {
                ended.complete(null);
            }

            @Override
            public void failed(CallException failure) {
                ended.completeExceptionally(failure);
            }
        });
        try {
            ended.get();
        } catch (ExecutionException e) {
            CallException failure = (CallException) e.getCause();
            throw new CallException(failure.kind(), failure.code(), failure.messageId(), failure.getMessage(), failure);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            CallException interrupted = new CallException(
                    ErrorKind.UNKNOWN_ERROR,
                    ErrorCode.CLOSED,
                    MessageId.NONE,
                    "interrupted while waiting for the backward pass of context " + context.id());
            passes.fail(context, interrupted);
            throw interrupted;
        }
    }

    /** Begins a pass. */
    @SuppressWarnings("try")
    void begin(AutogradContext context, List<Tensor> roots, PassOptions options, PassEnd end) {
        List<NativeTensor> handles = new ArrayList<>();
        try (PointerScope scope = new PointerScope()) {
            List<org.bytedeco.pytorch.Tensor> live = new ArrayList<>();
            for (Tensor root : roots) {
                NativeTensor handle = context.leaves().of(root, null);
                handles.add(handle);
                live.add(handle.tensor());
            }
            passes.begin(context, live, options, end);
        } catch (RejectedMessageException e) {
            throw new IllegalArgumentException("a root can't be differentiated: " + e.getMessage(), e);
        } finally {
            handles.forEach(NativeTensor::release);
        }
    }
}
