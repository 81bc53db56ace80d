package io.waybill.autograd.graph;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.testing.core.Seeds;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.bytedeco.javacpp.PointerScope;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Gradients over several workers are those of the same computation in one process, and have the same bits whatever the order of messages. */
@Timeout(value = 10, unit = TimeUnit.MINUTES)
class RandomGraphsTest {

    @RegisterExtension
    static final LibTorchLoaded TORCH = new LibTorchLoaded();

    @Test
    void haveTheGradientsOfOneProcess() {
        check(80);
    }

    @Test
    @Tag("slow")
    void haveTheGradientsOfOneProcessInAThousandGraphs() {
        check(1000);
    }

    private static void check(int rounds) {
        Seeds.count(1, rounds).forEach(seed -> {
            for (PassMode mode : PassMode.values()) {
                check(seed, mode, seed % 2 == 0);
            }
        });
    }

    @SuppressWarnings("try")
    private static void check(long seed, PassMode mode, boolean isMixed) {
        try (PointerScope scope = new PointerScope()) {
            String what = mode + ", " + Seeds.option(seed);
            List<double[]> gradients = run(seed, mode, isMixed, 1, what);
            assertThat(RandomGraph.bits(run(seed, mode, isMixed, 2, what)))
                    .as("other order of messages, " + what)
                    .isEqualTo(RandomGraph.bits(gradients));
        }
    }

    private static List<double[]> run(long seed, PassMode mode, boolean isMixed, long order, String what) {
        try (Cluster cluster = new Cluster(2 + (int) Math.floorMod(seed, 3L), seed + order << 32)) {
            RandomGraph graph = new RandomGraph(cluster, seed, mode, isMixed);
            List<double[]> gradients = graph.backward();
            assertThat(cluster.passesDone).as("passes done, " + what).isEqualTo(cluster.passesBegun);
            graph.assertGradients(gradients, what);
            return gradients;
        }
    }
}
