package io.waybill.profiler;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.RejectedMessageException;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.broker.Broker;
import io.waybill.api.tensor.Tensor;
import io.waybill.autograd.Autograd;
import io.waybill.autograd.BackwardRequests;
import io.waybill.autograd.ContextGradients;
import io.waybill.autograd.ForwardRequests;
import io.waybill.autograd.PassRequests;
import io.waybill.profiler.profile.Profile;
import io.waybill.profiler.profile.ProfileEvent;
import io.waybill.profiler.profile.ProfilerConfig;
import io.waybill.torch.NativeTensor;
import io.waybill.worker.Waybill;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.bytedeco.javacpp.PointerScope;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Calls of an autograd context in a profile, and a profile in a context: both see the call, and the gradients are right. */
@Timeout(value = 5, unit = TimeUnit.MINUTES)
@SuppressWarnings("try")
class AutogradInProfilesTest {

    @TempDir
    private Path directory;

    private final List<Autograd> autograds = new ArrayList<>();

    private Waybill autograd(Waybill joining) {
        Autograd[] made = new Autograd[1];
        return joining.withBroker(broker -> made[0] = added(broker))
                .withBroker(broker -> new ForwardRequests(made[0]))
                .withBroker(broker -> new PassRequests(made[0]))
                .withBroker(broker -> new BackwardRequests(made[0]));
    }

    private Autograd added(Broker broker) {
        Autograd autograd = new Autograd(broker, ProfiledWorkers.NATIVES);
        autograds.add(autograd);
        return autograd;
    }

    private static Value leaf() throws RejectedMessageException {
        try (PointerScope scope = new PointerScope()) {
            Tensor plain = ProfiledWorkers.vector(2);
            NativeTensor handle = ProfiledWorkers.NATIVES.of(plain);
            org.bytedeco.pytorch.Tensor copy = handle.tensor().detach().clone();
            handle.release();
            plain.storage().release();
            copy.set_requires_grad(true);
            NativeTensor leaf = ProfiledWorkers.NATIVES.hold(copy);
            try {
                return ProfiledWorkers.NATIVES.describe(leaf);
            } finally {
                leaf.release();
            }
        }
    }

    private static Tensor tensor(Value value) {
        return ((Value.OfTensor) value).value();
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void composesInEitherOrder(boolean isContextOutside) throws Exception {
        try (ProfiledWorkers workers =
                ProfiledWorkers.of(directory.resolve("home"), 2, (joining, id) -> autograd(joining))) {
            Autograd autograd = autograds.get(0);
            RemoteProfiler profiler = workers.profilers.get(0);
            Profile[] profile = new Profile[1];
            Value leaf = leaf();
            if (isContextOutside) {
                autograd.context(context -> profile[0] = profiler.profile(
                        ProfilerConfig.cpu(), () -> multiplyAndDifferentiate(workers, autograd, context, leaf)));
            } else {
                profile[0] = profiler.profile(
                        ProfilerConfig.cpu(),
                        () -> autograd.context(context -> multiplyAndDifferentiate(workers, autograd, context, leaf)));
            }
            tensor(leaf).storage().release();
            assertThat(profile[0].events())
                    .filteredOn(event -> event.name()
                            .equals("rpc_sync#aten::mul(worker0 -> worker1)" + ProfileEvent.REMOTE_OP + "aten::mul"))
                    .hasSize(1)
                    .allSatisfy(event -> assertThat(event.worker()).isEqualTo(1));
            assertThat(profile[0].events())
                    .as("gradient messages")
                    .anyMatch(event ->
                            event.name().contains("BACKWARD_AUTOGRAD_REQ(worker0 -> worker1)") && !event.isRemote());
        } finally {
            autograds.forEach(Autograd::close);
        }
    }

    @Test
    void aPassHasItsFunctionsAndTheirOperators() throws Exception {
        try (ProfiledWorkers workers =
                ProfiledWorkers.of(directory.resolve("home"), 2, (joining, id) -> autograd(joining))) {
            List<OperatorRecorder> recorders = workers.profilers.stream()
                    .map(profiler -> new OperatorRecorder(profiler, ProfiledWorkers.NATIVES))
                    .toList();
            Autograd autograd = autograds.get(0);
            Value leaf = leaf();
            Profile profile = workers.profilers
                    .get(0)
                    .profile(
                            ProfilerConfig.cpu(),
                            () -> autograd.context(
                                    context -> multiplyAndDifferentiate(workers, autograd, context, leaf)));
            recorders.forEach(OperatorRecorder::close);
            tensor(leaf).storage().release();
            assertInside(profile, "SumBackward0", "aten::expand", 0);
            assertInside(profile, "MulBackward0", "aten::mul", 1);
        } finally {
            autograds.forEach(Autograd::close);
        }
    }

    /** An operator runs inside of a function, which runs inside of the handler of the gradient message, except at the driver. */
    private static void assertInside(Profile profile, String function, String operator, int worker) {
        ProfileEvent inner = profile.events().stream()
                .filter(event -> event.ownName().equals(operator)
                        && event.parent() >= 0
                        && profile.events().get(event.parent()).ownName().equals(function))
                .findFirst()
                .orElseThrow(() -> new AssertionError(operator + " in " + function + ": expected in "
                        + profile.events().stream().map(ProfileEvent::name).toList()));
        assertThat(inner.worker()).isEqualTo(worker);
        ProfileEvent outer = profile.events().get(inner.parent());
        assertThat(outer.kind()).isEqualTo(ProfileEvent.Kind.OPERATOR);
        assertThat(outer.outcome()).isEqualTo(ProfileEvent.Outcome.DONE);
        if (worker > 0) {
            assertThat(profile.events().get(outer.parent()).name()).endsWith("#remote_op: BACKWARD_AUTOGRAD_REQ");
        }
    }

    private static void multiplyAndDifferentiate(ProfiledWorkers workers, Autograd autograd, long context, Value leaf)
            throws RejectedMessageException {
        try (Response product =
                workers.workers.get(0).rpc().rpcSync("worker1", ProfiledWorkers.invocation("aten::mul", leaf, leaf))) {
            Value loss = ProfiledWorkers.ENGINE.run(ProfiledWorkers.invocation("aten::sum", product.value()));
            autograd.backward(context, List.of(tensor(loss)));
            tensor(loss).storage().release();
        }
        try (ContextGradients gradients = autograd.gradients(context)) {
            Tensor gradient = gradients.of(tensor(leaf)).orElseThrow();
            assertThat(gradient.storage()
                            .bytes(0, 8)
                            .order(java.nio.ByteOrder.nativeOrder())
                            .getFloat(0))
                    .isEqualTo(2);
        }
    }
}
