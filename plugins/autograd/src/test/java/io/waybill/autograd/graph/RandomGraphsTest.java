package io.waybill.autograd.graph;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.testing.core.Seeds;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
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
            assertThat(bits(run(seed, mode, isMixed, 2, what)))
                    .as("other order of messages, " + what)
                    .isEqualTo(bits(gradients));
        }
    }

    private static List<double[]> run(long seed, PassMode mode, boolean isMixed, long order, String what) {
        try (Cluster cluster = new Cluster(2 + (int) (seed % 3), seed + order << 32)) {
            RandomGraph graph = new RandomGraph(cluster, seed, mode, isMixed);
            List<double[]> gradients = graph.backward(mode);
            assertThat(cluster.passesDone).as("passes done, " + what).isEqualTo(cluster.passesBegun);
            assertSame(gradients, graph.expected(), isMixed ? 1e-5 : 1e-10, mode, what);
            return gradients;
        }
    }

    private static void assertSame(
            List<double[]> gradients, List<double[]> expected, double tolerance, PassMode mode, String what) {
        for (int i = 0; i < expected.size(); i++) {
            double[] found = gradients.get(i);
            double[] wanted = expected.get(i);
            String leaf = "gradient of leaf " + i + ", " + what;
            if (wanted == null && mode == PassMode.FAST && found != null) {
                assertThat(found).as(leaf).containsOnly(0); // what undefined gradients became on the way
            } else if (wanted == null || found == null) {
                assertThat(found).as(leaf).isEqualTo(wanted);
            } else {
                double max = Arrays.stream(wanted).map(Math::abs).max().orElse(0);
                assertThat(found)
                        .as(leaf)
                        .usingComparatorWithPrecision(tolerance * Math.max(1, max))
                        .containsExactly(wanted);
            }
        }
    }

    private static List<String> bits(List<double[]> gradients) {
        return gradients.stream()
                .map(values -> values == null
                        ? "none"
                        : Arrays.stream(values)
                                .mapToObj(value -> Long.toHexString(Double.doubleToRawLongBits(value)))
                                .collect(Collectors.joining(" ")))
                .toList();
    }
}
