package io.waybill.profiler;

import static io.waybill.profiler.ProfiledWorkers.ENGINE;
import static io.waybill.profiler.ProfiledWorkers.NATIVES;
import static io.waybill.profiler.ProfiledWorkers.invocation;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.CallException;
import io.waybill.api.Invocation;
import io.waybill.api.RRef;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import io.waybill.profiler.profile.Profile;
import io.waybill.profiler.profile.ProfileEvent;
import io.waybill.profiler.profile.ProfileEvent.Kind;
import io.waybill.profiler.profile.ProfileEvent.Outcome;
import io.waybill.profiler.profile.ProfilerConfig;
import io.waybill.script.ServedScript;
import io.waybill.testing.core.Waits;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The operators that libtorch runs in the functions and operators that are called. */
@Timeout(value = 5, unit = TimeUnit.MINUTES)
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@SuppressWarnings("try")
class OperatorsInProfilesTest {

    private static final String FUNCTIONS = """
            import torch

            from torch.autograd.profiler import record_function

            def named(x, block: str):
                with record_function(block):
                    return torch.add(x, torch.ones(1))

            def failing(x, block: str):
                with record_function(block):
                    assert len(block) > 99, "Expected error"
                return x

            def heavy(x):
                y = torch.ones(2, 2)
                z = torch.add(y, x) * 2.0
                return torch.sigmoid(torch.relu(z))

            def bad(x):
                y = torch.add(x, 1.0)
                return torch.mm(y, torch.ones(7, 7))

            def both(x, y):
                return torch.add(x, y)

            def turned(x):
                return torch.conj(x)
            """;

    private final List<OperatorRecorder> recorders = new ArrayList<>();
    private ServedScript script;
    private ProfiledWorkers workers;
    private Tensor argument;

    @BeforeAll
    void join(@TempDir Path directory) throws Exception {
        script = new ServedScript(ENGINE, directory.resolve("ops.py"), FUNCTIONS);
        workers = ProfiledWorkers.of(
                directory.resolve("home"),
                2,
                (joining, id) -> joining.with("function:ops.heavy", script.handler())
                        .with("function:ops.named", script.handler())
                        .with("function:ops.failing", script.handler())
                        .with("function:ops.bad", script.handler())
                        .with("function:ops.both", script.handler())
                        .with("function:ops.turned", script.handler()));
        workers.profilers.forEach(profiler -> recorders.add(new OperatorRecorder(profiler, NATIVES)));
        argument = ((Value.OfTensor) ENGINE.run(invocation("aten::ones", Value.ints(2, 2)))).value();
    }

    @AfterAll
    void leave() throws Exception {
        recorders.forEach(OperatorRecorder::close);
        argument.storage().release();
        workers.close();
        script.close();
    }

    private Invocation heavy() {
        return invocation("ops.heavy", Value.of(argument));
    }

    private static void assertOperators(Profile profile, String key, int worker, int callIndex) {
        String remote = key + ProfileEvent.REMOTE_OP;
        assertThat(profile.events())
                .extracting(ProfileEvent::name)
                .contains(
                        remote + "ops.heavy",
                        remote + "aten::ones",
                        remote + "aten::add",
                        remote + "aten::mul",
                        remote + "aten::relu",
                        remote + "aten::clamp_min",
                        remote + "aten::sigmoid");
        assertThat(profile.events().get(callIndex).name()).isEqualTo(key);
        for (ProfileEvent event : profile.events()) {
            if (event.kind() == Kind.OPERATOR) {
                ProfileEvent around = profile.events().get(event.parent());
                assertThat(event.worker()).as(event.name()).isEqualTo(worker);
                assertThat(event.outcome()).as(event.name()).isEqualTo(Outcome.DONE);
                assertThat(event.name()).startsWith(remote);
                assertThat(event.beginNs()).as(event + " in " + around).isGreaterThanOrEqualTo(around.beginNs());
                assertThat(event.endNs()).as(event + " in " + around).isLessThanOrEqualTo(around.endNs());
            }
        }
        assertThat(around(profile, remote + "aten::clamp_min")).isEqualTo(remote + "aten::relu");
        assertThat(around(profile, remote + "aten::relu")).isEqualTo(remote + "ops.heavy");
        assertThat(around(profile, remote + "aten::sigmoid")).isEqualTo(remote + "ops.heavy");
    }

    private static String around(Profile profile, String name) {
        List<ProfileEvent> found = profile.events().stream()
                .filter(event -> event.name().equals(name))
                .toList();
        assertThat(found).as(name).hasSize(1);
        return profile.events().get(found.get(0).parent()).name();
    }

    @ParameterizedTest
    @CsvSource({"rpc_sync, worker1", "rpc_async, worker1", "rpc_remote, worker1", "rpc_remote, worker0"})
    void recordsTheOperatorsOfAScriptFunction(String mode, String to) throws Exception {
        Profile profile = workers.profilers.get(0).profile(ProfilerConfig.cpu(), () -> {
            try (ProfileScope scope = workers.profilers.get(0).scope("foo")) {
                call(mode, to);
            }
        });
        String key = mode + "#ops.heavy(worker0 -> " + to + ")";
        assertThat(profile.events().get(0).name()).isEqualTo("foo");
        assertThat(profile.events())
                .filteredOn(event -> event.name().equals(key))
                .hasSize(1);
        assertThat(profile.events().get(1).worker()).isZero();
        assertOperators(profile.withoutWaits(), key, to.charAt(6) - '0', 1);
    }

    @Test
    void recordsTheScopesOfAScriptFunction() throws Exception {
        Profile profile = workers.profilers
                .get(0)
                .profile(
                        ProfilerConfig.cpu(),
                        () -> workers.rpcSync(
                                0, "worker1", invocation("ops.named", Value.of(argument), Value.of("foo"))))
                .withoutWaits();
        String remote = "rpc_sync#ops.named(worker0 -> worker1)" + ProfileEvent.REMOTE_OP;
        assertThat(around(profile, remote + "aten::add")).isEqualTo(remote + "foo");
        assertThat(around(profile, remote + "foo")).isEqualTo(remote + "ops.named");
    }

    @Test
    void endsTheScopesOfAFunctionThatFails() throws Exception {
        Profile profile = workers.profilers.get(0).profile(ProfilerConfig.cpu(), () -> {
            for (int i = 0; i < 2; i++) {
                assertThatThrownBy(() -> workers.rpcSync(
                                0, "worker1", invocation("ops.failing", Value.of(argument), Value.of("foo"))))
                        .hasMessageContaining("Expected error");
            }
        });
        String remote = "rpc_sync#ops.failing(worker0 -> worker1)" + ProfileEvent.REMOTE_OP;
        assertThat(profile.events())
                .filteredOn(event -> event.name().equals(remote + "foo"))
                .hasSize(2)
                .allSatisfy(event ->
                        assertThat(profile.events().get(event.parent()).name()).isEqualTo(remote + "ops.failing"));
    }

    private void call(String mode, String to) throws Exception {
        switch (mode) {
            case "rpc_sync" -> workers.rpcSync(0, to, heavy());
            case "rpc_async" -> {
                try (Response response =
                        workers.workers.get(0).rpc().rpcAsync(to, heavy()).get(120, TimeUnit.SECONDS)) {
                    assertThat(((Value.OfTensor) response.value()).value().elementCount())
                            .isEqualTo(4);
                }
            }
            default -> {
                try (RRef reference = workers.workers.get(0).rpc().remote(to, heavy())) {
                    reference.toHere(Duration.ofMinutes(2)).close();
                    Waits.until(
                            "no response to the creation",
                            () -> workers.workers.get(0).pendingCalls() == 0);
                }
            }
        }
    }

    @Test
    void anOperatorThatIsCalledHasOneEventAndThoseInside() throws Exception {
        Profile profile = workers.profilers
                .get(0)
                .profile(
                        ProfilerConfig.cpu().withInputShapes(),
                        () -> workers.rpcSync(0, "worker1", invocation("aten::relu", Value.of(argument))))
                .withoutWaits();
        String key = "rpc_sync#aten::relu(worker0 -> worker1)";
        assertThat(profile.events())
                .extracting(ProfileEvent::name)
                .containsExactly(
                        key,
                        key + ProfileEvent.REMOTE_OP + "aten::relu",
                        key + ProfileEvent.REMOTE_OP + "aten::clamp_min");
        assertThat(profile.events().get(2).shapes())
                .as("shapes of the operator")
                .containsExactly(List.of(2L, 2L));
        assertThat(profile.events().get(2).parent()).isEqualTo(1);
    }

    /** Two arguments that share a storage, and a result that is marked to be conjugated: libtorch makes tensors of the former, and values of the latter. */
    @ParameterizedTest
    @CsvSource({
        "aten::add, aten::set_",
        "ops.both, aten::set_",
        "aten::conj, aten::resolve_conj",
        "ops.turned, aten::resolve_conj"
    })
    void whatMakesArgumentsAndResultsIsNoOperatorOfTheCall(String called, String ours) throws Exception {
        Storage one = workers.workers.get(0).buffers().allocate(2 * Float.BYTES);
        Value[] arguments = ours.equals("aten::set_")
                ? new Value[] {
                    Value.of(Tensor.contiguous(DType.FLOAT32, new long[] {1}, one)),
                    Value.of(Tensor.contiguous(DType.FLOAT32, new long[] {2}, one))
                }
                : new Value[] {Value.of(Tensor.contiguous(DType.COMPLEX64, new long[] {1}, one))};
        Profile profile = workers.profilers
                .get(0)
                .profile(ProfilerConfig.cpu(), () -> workers.rpcSync(0, "worker1", invocation(called, arguments)));
        one.release();
        String remote = "rpc_sync#" + called + "(worker0 -> worker1)" + ProfileEvent.REMOTE_OP;
        assertThat(profile.events())
                .extracting(ProfileEvent::name)
                .contains(remote + called)
                .doesNotContain(remote + ours);
    }

    @Test
    void aFunctionThatFailsKeepsItsOperators() {
        try (ProfileSession session = workers.profilers.get(0).begin(ProfilerConfig.cpu())) {
            assertThatThrownBy(() -> workers.rpcSync(0, "worker1", invocation("ops.bad", Value.of(argument))))
                    .isInstanceOf(CallException.class);
            Profile profile = session.end();
            String key = "rpc_sync#ops.bad(worker0 -> worker1)" + ProfileEvent.REMOTE_OP;
            assertThat(profile.events())
                    .filteredOn(event -> event.name().equals(key + "ops.bad"))
                    .hasSize(1)
                    .allSatisfy(event -> assertThat(event.outcome()).isEqualTo(Outcome.FAILED));
            assertThat(profile.events()).extracting(ProfileEvent::name).contains(key + "aten::add", key + "aten::mm");
        }
    }

    @Test
    void operatorsOutsideOfAProfileAreNotObserved() throws Exception {
        Profile profile = workers.profilers.get(0).profile(ProfilerConfig.cpu(), () -> {});
        workers.rpcSync(0, "worker1", heavy());
        assertThat(profile.events()).isEmpty();
        assertThat(NATIVES.operatorEvents().observe()).isNull();
    }
}
