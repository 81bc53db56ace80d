package io.waybill.autograd;

import static io.waybill.autograd.TestWorkers.elements;
import static io.waybill.autograd.TestWorkers.invocation;
import static io.waybill.autograd.TestWorkers.tensor;
import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.RRef;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.testing.core.Waits;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Operators with several results, and such that draw random numbers: called, by reference, and differentiated. */
@Timeout(value = 2, unit = TimeUnit.MINUTES)
class OperatorsInContextsTest {

    private static final double[] ELEMENTS = {3, 1, 2, 5, 6, 4};

    @TempDir
    private Path directory;

    private TestWorkers workers;
    private Autograd autograd;

    @BeforeEach
    void join() throws Exception {
        workers = TestWorkers.of(directory.resolve("home"), 2);
        autograd = workers.autograd(0);
    }

    @AfterEach
    void leavesNothing() throws Exception {
        for (int i = 0; i < 2; i++) {
            Autograd each = workers.autograd(i);
            Waits.until("no context is left", () -> each.contexts().isEmpty());
        }
        workers.close();
        assertThat(TestWorkers.NATIVES.liveCount()).as("handles").isZero();
    }

    private List<Value> called(String name, Object... arguments) {
        return ((Value.Tuple) workers.call(0, 1, name, arguments)).values();
    }

    private List<Value> referenced(String name, Object... arguments) {
        try (RRef reference = workers.worker(0).rpc().remote("worker1", invocation(name, arguments));
                Response here = reference.toHere()) {
            here.tensors().forEach(tensor -> tensor.storage().retain());
            return ((Value.Tuple) workers.keep(here.value())).values();
        }
    }

    private void assertGradient(BackwardMode mode, String name, List<Object> more, double[] values, double[] gradient) {
        for (boolean isReference : new boolean[] {false, true}) {
            autograd.context(context -> {
                Value x = workers.leaf(new long[] {2, 3}, ELEMENTS);
                List<Object> arguments = new ArrayList<>(List.of(x));
                arguments.addAll(more);
                List<Value> results =
                        isReference ? referenced(name, arguments.toArray()) : called(name, arguments.toArray());
                assertThat(elements(tensor(results.get(0)))).as(name).containsExactly(values);
                assertThat(tensor(results.get(1)).requiresGrad()).as("indices").isFalse();
                // not linear, so that the gradient tells which element went where
                Value squares = workers.local("aten::mul", results.get(0), results.get(0));
                autograd.backward(context, List.of(tensor(workers.local("aten::sum", squares))), false, mode);
                try (ContextGradients gradients = autograd.gradients(context)) {
                    assertThat(elements(gradients.of(tensor(x)).orElseThrow()))
                            .as(name + (isReference ? " by reference" : " called"))
                            .containsExactly(gradient);
                }
            });
        }
    }

    @ParameterizedTest
    @EnumSource
    void differentiatesOperatorsWithSeveralResults(BackwardMode mode) {
        assertGradient(mode, "aten::max.dim", List.of(1), new double[] {3, 6}, new double[] {6, 0, 0, 0, 12, 0});
        assertGradient(mode, "aten::max", List.of(0), new double[] {5, 6, 4}, new double[] {0, 0, 0, 10, 12, 8});
        double[] twice = Arrays.stream(ELEMENTS).map(element -> 2 * element).toArray();
        assertGradient(mode, "aten::sort", List.of(), new double[] {1, 2, 3, 4, 5, 6}, twice);
        assertGradient(mode, "aten::topk", List.of(2), new double[] {3, 2, 6, 5}, new double[] {6, 0, 4, 10, 12, 0});
    }

    @Test
    void respondsWithTuplesWithoutAGradient() {
        Value repeated = workers.leaf(false, new long[] {5}, 4, 2, 4, 2, 2);
        autograd.context(context -> {
            for (List<Value> unique : List.of(
                    called("aten::_unique2", repeated, Value.of(true), Value.of(true), Value.of(true)),
                    referenced("aten::_unique2", repeated, Value.of(true), Value.of(true), Value.of(true)))) {
                assertThat(unique).hasSize(3);
                assertThat(elements(tensor(unique.get(0)))).containsExactly(2, 4);
                assertThat(tensor(unique.get(1)).elementCount()).isEqualTo(5);
            }
        });
    }

    @Test
    void drawsForEachCallOnceAndReplaysIt() throws Exception {
        double[] ones = new double[64];
        Arrays.fill(ones, 1);
        List<double[]> masks = new ArrayList<>();
        for (BackwardMode mode : BackwardMode.values()) {
            autograd.context(context -> {
                Value x = workers.leaf(new long[] {64}, ones);
                Value dropped = workers.call(0, 1, "aten::dropout", x, 0.5, Value.of(true));
                autograd.backward(context, List.of(tensor(workers.local("aten::sum", dropped))), false, mode);
                try (ContextGradients gradients = autograd.gradients(context)) {
                    assertThat(elements(gradients.of(tensor(x)).orElseThrow()))
                            .as("the mask of the forward pass")
                            .containsExactly(elements(tensor(dropped)))
                            .containsOnly(0, 2);
                }
                masks.add(elements(tensor(dropped)));
            });
        }
        assertThat(masks.get(0)).isNotEqualTo(masks.get(1));
        workers.close();
        Recorded recorded = Recorded.replayed(directory.resolve("home"), "worker1");
        assertThat(recorded.differences())
                .as("the gradients of its calls went to others, which a replay refuses")
                .allMatch(difference -> difference.startsWith("BACKWARD_AUTOGRAD_REQ"));
        assertThat(recorded.count("aten::dropout") + recorded.count("FORWARD_AUTOGRAD_REQ"))
                .isEqualTo(2);
    }
}
