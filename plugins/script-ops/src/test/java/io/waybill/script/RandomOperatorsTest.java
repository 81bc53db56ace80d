package io.waybill.script;

import static io.waybill.script.Calls.elements;
import static io.waybill.script.DirectStorage.floats;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.assertj.core.api.Assertions.within;

import io.waybill.api.ErrorCode;
import io.waybill.api.Invocation;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Value;
import io.waybill.api.tensor.Tensor;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Random operators: the numbers of a call follow from those of its outbox alone. */
@Timeout(value = 2, unit = TimeUnit.MINUTES)
class RandomOperatorsTest {

    private static final Calls CALLS = new Calls();

    private static final int LENGTH = 64;
    private static final int THREADS = 4;
    private static final int CALLS_OF_A_THREAD = 500;

    private static Tensor vector(double element) {
        double[] elements = new double[LENGTH];
        Arrays.fill(elements, element);
        return floats(new long[] {LENGTH}, elements);
    }

    private static Tensor matrix() {
        double[] elements = new double[LENGTH];
        for (int i = 0; i < LENGTH; i++) {
            elements[i] = 1 + i % 5;
        }
        return floats(new long[] {1, LENGTH / 8, 8}, elements);
    }

    /** Some of each kind: with a generator, with a twin that has one, without either. */
    private static List<Invocation> random() {
        Tensor x = vector(1);
        Tensor m = matrix();
        return List.of(
                call("aten::bernoulli", vector(0.5)),
                call("aten::bernoulli.p", x, 0.5),
                call("aten::multinomial", x, 8),
                call("aten::normal", x, 2.0),
                call("aten::rrelu", vector(-1), 0.1, 0.9, true),
                call("aten::rand", List.of(LENGTH)),
                call("aten::rand.default", List.of(LENGTH)),
                call("aten::randn", List.of(LENGTH)),
                call("aten::randint", 1_000_000, List.of(LENGTH)),
                call("aten::randint", 5, 1_000_000, List.of(LENGTH)),
                call("aten::randperm", LENGTH),
                call("aten::rand_like", x),
                call("aten::randint_like", x, 1_000_000),
                call("aten::dropout", x, 0.5, true),
                call("aten::dropout_", vector(1), 0.5, true),
                call("aten::alpha_dropout", x, 0.5, true),
                call("aten::native_dropout", x, 0.5, true),
                call("aten::scaled_dot_product_attention", m, m, m, null, 0.5));
    }

    private static Invocation call(String name, Object... positional) {
        return new Invocation(name, Arrays.stream(positional).map(Calls::value).toList(), Map.of());
    }

    private static double[] drawn(Invocation call, long seed) throws RejectedMessageException {
        Value result = CALLS.callOrRefuse(call, new Random(seed));
        return elements(result instanceof Value.Tuple tuple ? tuple.values().get(0) : result);
    }

    @Test
    void drawsTheSameNumbersForTheSameSeedAndOthersForAnother() throws Exception {
        for (Invocation call : random()) {
            double[] first = drawn(call, 1);
            double[] other = drawn(call, 2);
            if (!call.name().equals("aten::dropout_")) { // which changes its argument
                assertThat(drawn(call, 1)).as(call.name() + " again").containsExactly(first);
            }
            assertThat(other).as(call.name() + " with another seed").isNotEqualTo(first);
        }
    }

    /** The numbers are those that PyTorch draws after {@code torch.manual_seed(0)}. */
    @Test
    void drawsThePeersNumbersForASeed() throws Exception {
        for (String name : List.of("aten::rand", "aten::rand.default", "aten::rand.generator")) {
            Invocation call =
                    new Invocation(name, List.of(Value.ints(3)), name.endsWith("r") ? named(Value.NONE) : Map.of());
            assertThat(elements(CALLS.callOrRefuse(call, () -> 0)))
                    .as(name)
                    .containsExactly(new double[] {0.4962566, 0.7682218, 0.0884774}, within(1e-5));
        }
        assertThat(elements(CALLS.callOrRefuse(call("aten::randn", List.of(3)), () -> 0)))
                .containsExactly(new double[] {1.5409961, -0.2934289, -2.1787894}, within(1e-5));
        double[] kept = elements(CALLS.callOrRefuse(call("aten::dropout", vector(1), 0.5, true), () -> 7));
        double[] coins = elements(CALLS.call("aten::bernoulli.p", Map.of("generator", 7), vector(0), 0.5));
        assertThat(kept)
                .containsExactly(Arrays.stream(coins).map(coin -> 2 * coin).toArray());
    }

    private static Map<String, Value> named(Value generator) {
        return Map.of("generator", generator);
    }

    @Test
    void aSeedThatTheCallerGivesIsTheOneThatCounts() throws Exception {
        for (long seed = 1; seed < 3; seed++) {
            Invocation call = new Invocation("aten::rand", List.of(Value.ints(3)), named(Value.of(0)));
            assertThat(elements(CALLS.callOrRefuse(call, new Random(seed))))
                    .containsExactly(new double[] {0.4962566, 0.7682218, 0.0884774}, within(1e-5));
        }
        double[] coins = elements(CALLS.call("aten::bernoulli.p", Map.of("generator", 3), vector(0), 0.5));
        assertThat(elements(CALLS.call("aten::bernoulli.p", Map.of("generator", 3), vector(0), 0.5)))
                .containsExactly(coins)
                .contains(0, 1);
    }

    @Test
    void refusesASeedWhereTheSchemaTakesNone() {
        Invocation call = new Invocation(
                "aten::dropout", List.of(Value.of(vector(1)), Value.of(0.5), Value.of(true)), named(Value.of(0)));
        RejectedMessageException refusal =
                catchThrowableOfType(RejectedMessageException.class, () -> CALLS.callOrRefuse(call, new Random(1)));

        assertThat(refusal.code()).isEqualTo(ErrorCode.NO_MATCHING_SCHEMA);
        assertThat(refusal).hasMessageContaining("has no argument named 'generator'");
    }

    @Test
    void takesNoNumbersForOperatorsThatDrawNone() throws Exception {
        Value sum = CALLS.callOrRefuse(call("aten::add", 1, 2), () -> {
            throw new AssertionError("a seed was drawn");
        });
        assertThat(sum).isEqualTo(Value.of(3));
    }

    /** Operators without a generator run one at a time; the others share nothing. */
    @Test
    void threadsDoNotDisturbOneAnother() throws Exception {
        List<Invocation> calls =
                List.of(call("aten::dropout", vector(1), 0.5, true), call("aten::rand", List.of(LENGTH)));
        ExecutorService threads = Executors.newFixedThreadPool(THREADS);
        try {
            List<Future<List<double[]>>> all = new ArrayList<>();
            for (int thread = 0; thread < THREADS; thread++) {
                all.add(threads.submit(() -> numbers(calls)));
            }
            List<double[]> alone = all.get(0).get();
            for (Future<List<double[]>> one : all) {
                assertThat(one.get()).usingRecursiveComparison().isEqualTo(alone);
            }
        } finally {
            threads.shutdownNow();
        }
    }

    private static List<double[]> numbers(List<Invocation> calls) throws RejectedMessageException {
        List<double[]> numbers = new ArrayList<>();
        for (int i = 0; i < CALLS_OF_A_THREAD; i++) {
            numbers.add(drawn(calls.get(i % calls.size()), i));
        }
        return numbers;
    }

    @Test
    void leavesTheProcesssOwnNumbersAloneWhereAnOperatorTakesAGenerator() throws Exception {
        org.bytedeco.pytorch.global.torch.manual_seed(1);
        float undisturbed = ownNumber();
        org.bytedeco.pytorch.global.torch.manual_seed(1);
        drawn(call("aten::rand", List.of(LENGTH)), 5);
        drawn(call("aten::bernoulli", vector(0.5)), 5);
        assertThat(ownNumber()).isEqualTo(undisturbed);
    }

    @SuppressWarnings("try")
    private static float ownNumber() {
        try (org.bytedeco.javacpp.PointerScope scope = new org.bytedeco.javacpp.PointerScope()) {
            return org.bytedeco.pytorch.global.torch.rand(1).item_float();
        }
    }
}
