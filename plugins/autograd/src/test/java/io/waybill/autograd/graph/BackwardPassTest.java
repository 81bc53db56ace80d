package io.waybill.autograd.graph;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.concurrent.TimeUnit;
import org.bytedeco.pytorch.Tensor;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

@Timeout(value = 2, unit = TimeUnit.MINUTES)
class BackwardPassTest {

    @RegisterExtension
    static final LibTorchLoaded TORCH = new LibTorchLoaded();

    @Test
    void differentiatesAnOperatorThatRanElsewhere() {
        for (PassMode mode : PassMode.values()) {
            try (Cluster cluster = new Cluster(2, 1)) {
                Tensor x = Tensors.leaf(1, 2);
                Tensor y = Tensors.leaf(3, 4);
                List<Tensor> there = cluster.send(0, 1, List.of(x, y));
                Tensor back = cluster.send(1, 0, there.get(0).mul(there.get(1)));

                cluster.backward(mode, GraphUse.RELEASE, back.sum());

                assertThat(cluster.failure).isNull();
                assertThat(cluster.passesDone).isEqualTo(2);
                assertThat(gradient(cluster, 0, x)).containsExactly(3, 4);
                assertThat(gradient(cluster, 0, y)).containsExactly(1, 2);
                assertThat(x.grad().defined()).isFalse();
            }
        }
    }

    private static double[] gradient(Cluster cluster, int worker, Tensor leaf) {
        return Tensors.values(cluster.workers.get(worker).gradient(leaf).orElseThrow());
    }
}
