package io.waybill.autograd.pass;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.ErrorKind;
import io.waybill.api.MessageId;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.broker.Broker;
import io.waybill.api.tensor.Tensor;
import io.waybill.autograd.context.AutogradContext;
import io.waybill.torch.NativeTensor;
import io.waybill.torch.NativeTensors;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import org.bytedeco.javacpp.PointerScope;

/**
 * Backward passes that begin in this worker, from roots. A waiting thread computes the local part, and polls.
 *
 * <p><b>Threads.</b> Any. <b>Errors.</b> {@link IllegalArgumentException} with PyTorch's text for roots that can't be
 * differentiated.
 */
public final class RootPasses {

    private final Broker broker;
    private final Passes passes;
    private final NativeTensors natives;

    public RootPasses(Broker broker, Passes passes, NativeTensors natives) {
        this.broker = broker;
        this.passes = passes;
        this.natives = natives;
    }

    /**
     * Runs a pass, and waits for its end in all workers.
     *
     * @throws CallException if the pass fails
     */
    public void run(AutogradContext context, List<Tensor> roots, boolean keepsGraph, boolean isFast) {
        CompletableFuture<Void> ended = new CompletableFuture<>();
        CompletableFuture<Runnable> discovered = new CompletableFuture<>();
        begin(context, roots, PassOptions.of(isFast, keepsGraph), discovered::complete, new PassEnd() {
            @Override
            public void done() {
                ended.complete(null);
            }

            @Override
            public void failed(CallException failure) {
                ended.completeExceptionally(failure);
                discovered.complete(() -> {});
            }
        });
        try {
            broker.await(discovered);
            discovered.join().run();
            broker.await(ended);
            ended.get();
        } catch (IllegalStateException e) { // a thread that must not wait
            passes.fail(context, Passes.failure(ErrorCode.REFUSED, e.getMessage()));
            throw e;
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

    /** Begins a pass, without waiting. */
    void begin(AutogradContext context, List<Tensor> roots, PassOptions options, PassEnd end) {
        begin(context, roots, options, passes::compute, end);
    }

    @SuppressWarnings("try")
    private void begin(AutogradContext context, List<Tensor> roots, PassOptions options, Executor thread, PassEnd end) {
        List<NativeTensor> handles = new ArrayList<>();
        try (PointerScope scope = new PointerScope()) {
            List<org.bytedeco.pytorch.Tensor> live = new ArrayList<>();
            for (Tensor root : roots) {
                NativeTensor handle = context.leaves().of(root, null);
                handles.add(handle);
                live.add(handle.tensor());
            }
            passes.begin(context, live, options, thread, end);
        } catch (RejectedMessageException e) {
            throw new IllegalArgumentException("a root can't be differentiated: " + e.getMessage(), e);
        } finally {
            handles.forEach(NativeTensor::release);
        }
    }
}
