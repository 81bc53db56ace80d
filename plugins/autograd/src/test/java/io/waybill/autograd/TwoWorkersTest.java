package io.waybill.autograd;

import static io.waybill.autograd.TestWorkers.elements;
import static io.waybill.autograd.TestWorkers.tensor;
import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.Value;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The shortest ways through a context and a pass. */
@Timeout(value = 2, unit = TimeUnit.MINUTES)
class TwoWorkersTest {

    @TempDir
    private Path directory;

    @ParameterizedTest
    @EnumSource
    void addsThereAndDifferentiatesBack(BackwardMode mode) throws Exception {
        try (TestWorkers workers = TestWorkers.of(directory.resolve("home"), 2)) {
            Autograd autograd = workers.autograd(0);
            autograd.context(context -> {
                Value t1 = workers.leaf(new long[] {2}, 1, 2);
                Value t2 = workers.leaf(new long[] {2}, 3, 4);
                Value sum = workers.call(0, 1, "aten::add", t1, t2);
                Value product = workers.local("aten::mul", sum, t1);
                Value loss = workers.local("aten::sum", product);
                assertThat(elements(tensor(loss))).containsExactly(4 + 12);
                autograd.backward(context, List.of(tensor(loss)), false, mode);
                try (ContextGradients gradients = autograd.gradients(context)) {
                    assertThat(elements(gradients.of(tensor(t1)).orElseThrow())).containsExactly(4 + 1, 6 + 2);
                    assertThat(elements(gradients.of(tensor(t2)).orElseThrow())).containsExactly(1, 2);
                }
                assertThat(autograd.contexts().get(0).knownWorkers()).containsExactly(1);
            });
        }
    }
}
