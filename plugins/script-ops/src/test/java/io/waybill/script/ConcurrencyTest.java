package io.waybill.script;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.tensor.Tensor;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** One handler, several threads. */
@Timeout(value = 2, unit = TimeUnit.MINUTES)
class ConcurrencyTest {

    private static final int THREADS = 4;
    private static final int CALLS = 2_000;

    @Test
    void servesSeveralThreadsAtOnce() throws Exception {
        Calls calls = new Calls();
        ExecutorService threads = Executors.newFixedThreadPool(THREADS);
        try {
            List<Future<Boolean>> all = new ArrayList<>();
            for (int thread = 0; thread < THREADS; thread++) {
                int number = thread;
                all.add(threads.submit(() -> isRight(calls, number)));
            }
            for (Future<Boolean> one : all) {
                assertThat(one.get()).isTrue();
            }
        } finally {
            threads.shutdownNow();
        }
    }

    private static boolean isRight(Calls calls, int number) {
        Tensor mine = DirectStorage.floats(new long[] {2}, number, 10 * number);
        for (int i = 0; i < CALLS; i++) {
            Tensor sum = Calls.tensor(calls.call("aten::add", mine, i));
            double[] found = Calls.elements(sum);
            sum.storage().release();
            if (found[0] != number + i || found[1] != 10 * number + i) {
                return false;
            }
        }
        return true;
    }
}
