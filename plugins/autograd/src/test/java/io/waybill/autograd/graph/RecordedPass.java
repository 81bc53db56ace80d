package io.waybill.autograd.graph;

import java.util.ArrayList;
import java.util.List;
import org.bytedeco.pytorch.Tensor;

/** Keeps what a pass reports. */
final class RecordedPass implements PassListener {

    final List<RecvId> received = new ArrayList<>();
    /** Of each message its gradients; null for an undefined one. */
    final List<List<double[]>> gradients = new ArrayList<>();

    int done;
    Throwable failure;

    @Override
    public void received(RecvId recv, List<Tensor> complete) {
        received.add(recv);
        List<double[]> values = new ArrayList<>();
        complete.forEach(gradient -> values.add(gradient.defined() ? Tensors.values(gradient) : null));
        gradients.add(values);
    }

    @Override
    public void done() {
        done++;
    }

    @Override
    public void failed(Throwable cause) {
        failure = cause;
    }
}
