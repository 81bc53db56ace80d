package io.waybill.autograd.graph;

import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import org.bytedeco.pytorch.Tensor;

/** Workers over which a computation is spread, in one context. Worker 0 is the driver. */
public interface GraphWorkers {

    int count();

    /** Sends tensors from a worker to another one, and returns those that arrive. */
    List<Tensor> send(int from, int to, List<Tensor> tensors);

    /** Calls a worker with tensors, and returns what arrives of the function's result. */
    Tensor call(int from, int to, List<Tensor> arguments, Function<List<Tensor>, Tensor> function);

    /** Runs a backward pass from roots on the driver, and returns when it has ended everywhere. */
    void backward(PassMode mode, List<Tensor> roots);

    /** Returns the gradient of a worker's leaf. */
    Optional<double[]> gradient(int worker, Tensor leaf);
}
