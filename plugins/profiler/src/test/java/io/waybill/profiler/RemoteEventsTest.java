package io.waybill.profiler;

import static io.waybill.profiler.ProfiledWorkers.invocation;
import static io.waybill.profiler.ProfiledWorkers.ones;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.Invocation;
import io.waybill.api.RRef;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.tensor.Tensor;
import io.waybill.profiler.ProfiledWorkers.Route;
import io.waybill.profiler.profile.Profile;
import io.waybill.profiler.profile.ProfileEvent;
import io.waybill.profiler.profile.ProfileEvent.Kind;
import io.waybill.profiler.profile.ProfileEvent.Outcome;
import io.waybill.profiler.profile.ProfilerConfig;
import io.waybill.profiler.profile.ProfilerState;
import io.waybill.testing.core.Waits;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What a profile has of calls to other workers: PyTorch's names, the right worker, and what caused what. */
@Timeout(value = 5, unit = TimeUnit.MINUTES)
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@SuppressWarnings("try")
class RemoteEventsTest {

    private static final Duration LIMIT = Duration.ofMinutes(2);

    private ProfiledWorkers workers;

    @BeforeAll
    void join(@TempDir Path directory) throws Exception {
        workers = ProfiledWorkers.of(directory.resolve("home"), 4);
    }

    @AfterAll
    void leave() throws Exception {
        workers.close();
    }

    @AfterEach
    void nothingIsRecordedAnyMore() {
        for (RemoteProfiler profiler : workers.profilers) {
            Waits.until("a recording is left open", () -> profiler.recordings() == 0);
        }
    }

    private <E extends Exception> Profile profile(Profiler.Body<E> body) throws E {
        return profile(ProfilerConfig.cpu(), body);
    }

    private <E extends Exception> Profile profile(ProfilerConfig config, Profiler.Body<E> body) throws E {
        return workers.profilers.get(0).profile(config, body).withoutWaits();
    }

    private void call(Request request) {
        workers.workers.get(0).call(request.timeout(LIMIT)).close();
    }

    private static List<String> names(Profile profile) {
        return profile.events().stream().map(ProfileEvent::name).toList();
    }

    private static ProfileEvent event(Profile profile, String name) {
        List<ProfileEvent> found = profile.events().stream()
                .filter(event -> event.name().equals(name))
                .toList();
        assertThat(found).as(name + " in " + names(profile)).hasSize(1);
        return found.get(0);
    }

    /** Each event lies within the one that caused it, and all are on their workers. */
    private static void assertContained(Profile profile) {
        List<ProfileEvent> events = profile.events();
        for (int i = 0; i < events.size(); i++) {
            ProfileEvent event = events.get(i);
            assertThat(event.parent()).isLessThan(i);
            if (event.parent() >= 0) {
                ProfileEvent cause = events.get(event.parent());
                assertThat(event.beginNs()).as(event + " in " + cause).isGreaterThanOrEqualTo(cause.beginNs());
                assertThat(event.endNs()).as(event + " in " + cause).isLessThanOrEqualTo(cause.endNs());
            }
        }
    }

    @Test
    void namesACallByItsModeItsFunctionAndItsWorkers() throws Exception {
        Profile profile = profile(() -> {
            workers.rpcSync(0, "worker1", ones());
            workers.workers
                    .get(0)
                    .rpc()
                    .rpcAsync("1", ones())
                    .get(60, TimeUnit.SECONDS)
                    .close();
        });
        assertThat(names(profile))
                .containsExactly(
                        "rpc_sync#aten::ones(worker0 -> worker1)",
                        "rpc_sync#aten::ones(worker0 -> worker1)#remote_op: aten::ones",
                        "rpc_async#aten::ones(worker0 -> worker1)",
                        "rpc_async#aten::ones(worker0 -> worker1)#remote_op: aten::ones");
        assertThat(profile.events()).extracting(ProfileEvent::worker).containsExactly(0, 1, 0, 1);
        assertThat(profile.events())
                .extracting(ProfileEvent::kind)
                .containsExactly(Kind.CALL, Kind.HANDLER, Kind.CALL, Kind.HANDLER);
        assertThat(profile.events()).extracting(ProfileEvent::isRemote).containsExactly(false, true, false, true);
        assertThat(profile.worker(1)).isEqualTo("worker1");
        assertContained(profile);
    }

    @Test
    void hasTheStagesBeforeTheHandler() throws Exception {
        Profile profile =
                workers.profilers.get(0).profile(ProfilerConfig.cpu(), () -> workers.rpcSync(0, "worker1", ones()));
        String remote = "rpc_sync#aten::ones(worker0 -> worker1)#remote_op: ";
        ProfileEvent handler = event(profile, remote + "aten::ones");
        ProfileEvent journal = event(profile, remote + "waybill::journal");
        ProfileEvent dispatch = event(profile, remote + "waybill::dispatch");
        for (ProfileEvent stage : List.of(journal, dispatch)) {
            assertThat(stage.kind()).isEqualTo(Kind.WAIT);
            assertThat(stage.worker()).isEqualTo(1);
            assertThat(stage.parent()).as("the call").isZero();
            assertThat(stage.outcome()).isEqualTo(Outcome.DONE);
        }
        assertThat(journal.durationNs()).isPositive();
        assertThat(handler.thread())
                .as("whichever thread dispatched, so that a replay has the same")
                .isZero();
        assertThat(dispatch.beginNs()).isGreaterThanOrEqualTo(journal.endNs());
        assertThat(dispatch.endNs()).isEqualTo(handler.beginNs());
        assertContained(profile);
        assertThat(names(profile)).as("without a wait that took no time").doesNotContain(remote + "waybill::parking");
    }

    @Test
    void hasTheWaitsOfTheCaller() throws Exception {
        Profile profile =
                workers.profilers.get(0).profile(ProfilerConfig.cpu(), () -> workers.rpcSync(0, "worker1", ones()));
        String call = "rpc_sync#aten::ones(worker0 -> worker1)";
        ProfileEvent send = event(profile, "waybill::send");
        ProfileEvent response = event(profile, "waybill::response");
        for (ProfileEvent wait : List.of(send, response)) {
            assertThat(wait.kind()).isEqualTo(Kind.WAIT);
            assertThat(wait.worker()).isZero();
            assertThat(wait.parent()).as("the call").isZero();
            assertThat(wait.durationNs()).isPositive();
        }
        assertThat(send.beginNs()).isEqualTo(event(profile, call).beginNs());
        assertThat(send.endNs())
                .isEqualTo(event(profile, call + "#remote_op: waybill::journal").beginNs());
        assertThat(response.beginNs())
                .isEqualTo(event(profile, call + "#remote_op: aten::ones").endNs());
        assertThat(response.endNs()).isEqualTo(event(profile, call).endNs());
        assertContained(profile);
    }

    @Test
    void namesOperatorsInEachForm() throws Exception {
        Profile profile =
                profile(() -> workers.rpcSync(0, "worker1", invocation("torch.ops.aten.ones", Value.ints(2))));
        event(profile, "rpc_sync#aten::ones(worker0 -> worker1)#remote_op: aten::ones");
    }

    @Test
    void recordsTheShapesThatALocalRunHas() throws Exception {
        Tensor a = ProfiledWorkers.vector(100);
        Tensor b = ProfiledWorkers.vector(100);
        Profile with = profile(
                ProfilerConfig.cpu().withInputShapes(),
                () -> workers.rpcSync(0, "worker1", invocation("aten::add", Value.of(a), Value.of(b))));
        Profile without =
                profile(() -> workers.rpcSync(0, "worker1", invocation("aten::add", Value.of(a), Value.of(b))));
        a.storage().release();
        b.storage().release();
        assertThat(with.events())
                .hasSize(2)
                .allSatisfy(event -> assertThat(event.shapes()).containsExactly(List.of(100L), List.of(100L)));
        assertThat(without.events())
                .hasSize(2)
                .allSatisfy(event -> assertThat(event.shapes()).isEmpty());
    }

    @Test
    void recordsMemoryWhenItIsAskedFor() throws Exception {
        Profile with = profile(ProfilerConfig.cpu().withMemory(), () -> workers.rpcSync(0, "worker1", ones()));
        assertThat(with.events()).extracting(ProfileEvent::memoryBytes).containsExactly(24L, 24L);
        Profile without = profile(() -> workers.rpcSync(0, "worker1", ones()));
        assertThat(without.events()).extracting(ProfileEvent::memoryBytes).containsExactly(0L, 0L);
    }

    @Test
    void keepsConcurrentCallsApart() throws Exception {
        Profile profile = profile(() -> {
            List<CompletableFuture<Response>> all = new ArrayList<>();
            for (int i = 0; i < 2; i++) {
                for (int to = 1; to < 4; to++) {
                    all.add(workers.workers.get(0).rpc().rpcAsync("worker" + to, ones()));
                }
            }
            for (CompletableFuture<Response> each : all) {
                each.get(60, TimeUnit.SECONDS).close();
            }
        });
        assertThat(profile.events()).hasSize(12);
        for (ProfileEvent event : profile.events()) {
            if (event.isRemote()) {
                ProfileEvent cause = profile.events().get(event.parent());
                assertThat(event.name()).isEqualTo(cause.name() + ProfileEvent.REMOTE_OP + "aten::ones");
                assertThat(cause.name()).endsWith("(worker0 -> worker" + event.worker() + ")");
            }
        }
        assertContained(profile);
    }

    @Test
    void aNestedCallOverThreeWorkersIsOneTrace() throws Exception {
        Profile profile = profile(() -> call(Route.request("test.route", "worker1 worker2 worker3")));
        String first = "rpc_sync#test.route(worker0 -> worker1)";
        String second = first + "#remote_op: rpc_sync#test.route(worker1 -> worker2)";
        String third = second + "#remote_op: rpc_sync#aten::ones(worker2 -> worker3)";
        assertThat(names(profile))
                .containsExactly(
                        first,
                        first + "#remote_op: test.route",
                        second,
                        second + "#remote_op: test.route",
                        third,
                        third + "#remote_op: aten::ones");
        assertThat(profile.events()).extracting(ProfileEvent::worker).containsExactly(0, 1, 1, 2, 2, 3);
        assertThat(profile.events()).extracting(ProfileEvent::parent).containsExactly(-1, 0, 1, 2, 3, 4);
        assertContained(profile);
    }

    @Test
    void recordsWhatAnAsynchronousHandlerCalls() throws Exception {
        Request request = Request.operation("worker1", "test.async");
        request.body().text("route", "worker2");
        Profile profile = profile(() -> call(request));
        String first = "rpc_sync#test.async(worker0 -> worker1)";
        String second = first + "#remote_op: rpc_async#aten::ones(worker1 -> worker2)";
        assertThat(event(profile, second).worker()).isEqualTo(1);
        assertThat(event(profile, second + "#remote_op: aten::ones").worker()).isEqualTo(2);
        assertThat(event(profile, first + "#remote_op: test.async").outcome()).isEqualTo(Outcome.DONE);
        assertContained(profile);
    }

    @Test
    void recordsTheScopesOfAHandler() throws Exception {
        Profile profile = profile(() -> call(Request.operation("worker1", "test.scope")));
        String first = "rpc_sync#test.scope(worker0 -> worker1)#remote_op: ";
        ProfileEvent forward = event(profile, first + "##forward##");
        assertThat(forward.worker()).isEqualTo(1);
        assertThat(forward.kind()).isEqualTo(Kind.SCOPE);
        ProfileEvent add = event(profile, first + "aten::add");
        assertThat(profile.events().get(add.parent())).isEqualTo(forward);
        assertThat(profile.events().get(forward.parent()).name()).isEqualTo(first + "test.scope");
        assertContained(profile);
    }

    @ParameterizedTest
    @CsvSource({"true, aten::ones", "true, test.one", "false, aten::ones", "false, test.one"})
    void aScopeOfTheProgramEnclosesItsCalls(boolean isSync, String called) throws Exception {
        Invocation call = called.equals("test.one") ? invocation(called) : ones();
        Profile profile = profile(() -> {
            try (ProfileScope scope = workers.profilers.get(0).scope("foo")) {
                if (isSync) {
                    workers.rpcSync(0, "worker1", call);
                } else {
                    workers.workers
                            .get(0)
                            .rpc()
                            .rpcAsync("worker1", call)
                            .get(60, TimeUnit.SECONDS)
                            .close();
                }
            }
        });
        String key = (isSync ? "rpc_sync#" : "rpc_async#") + called + "(worker0 -> worker1)";
        assertThat(names(profile)).containsExactly("foo", key, key + "#remote_op: " + called);
        assertThat(profile.events()).extracting(ProfileEvent::parent).containsExactly(-1, 0, 1);
        assertThat(profile.events()).extracting(ProfileEvent::worker).containsExactly(0, 0, 1);
        assertContained(profile);
    }

    @ParameterizedTest
    @CsvSource({"worker1, aten::ones", "worker0, aten::ones", "worker1, test.one", "worker0, test.one"})
    void recordsTheCreationAndTheFetchOfAReference(String to, String called) throws Exception {
        Invocation call = called.equals("test.one") ? invocation(called) : ones();
        Profile profile = profile(() -> {
            try (RRef reference = workers.workers.get(0).rpc().remote(to, call)) {
                reference.toHere(LIMIT).close();
                Waits.until(
                        "no response to the creation",
                        () -> workers.workers.get(0).pendingCalls() == 0);
            }
        });
        String key = "rpc_remote#" + called + "(worker0 -> " + to + ")";
        assertThat(event(profile, key).worker()).isZero();
        assertThat(event(profile, key + "#remote_op: " + called).worker()).isEqualTo(to.charAt(6) - '0');
        if (!to.equals("worker0")) {
            event(profile, "to_here#(worker0)->(worker1)");
        }
    }

    @Test
    void aCallToItselfIsRecorded() throws Exception {
        Profile profile = profile(() -> call(Route.request("test.route", "worker0 worker0")));
        String first = "rpc_sync#test.route(worker0 -> worker0)";
        String second = first + "#remote_op: rpc_sync#aten::ones(worker0 -> worker0)";
        assertThat(names(profile))
                .containsExactly(first, first + "#remote_op: test.route", second, second + "#remote_op: aten::ones");
        assertContained(profile);
    }

    @Test
    void aFailedCallKeepsItsEvents() {
        String key = "rpc_sync#test.bad(worker0 -> worker1)";
        try (ProfileSession session = workers.profilers.get(0).begin(ProfilerConfig.cpu())) {
            assertThatThrownBy(() -> call(Request.operation("worker1", "test.bad")))
                    .isInstanceOfSatisfying(
                            CallException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.REFUSED))
                    .hasMessage("planted");
            Profile profile = session.end().withoutWaits();
            assertThat(event(profile, key).outcome()).isEqualTo(Outcome.FAILED);
            assertThat(event(profile, key + "#remote_op: test.bad").outcome()).isEqualTo(Outcome.FAILED);
            ProfileEvent nested = event(profile, key + "#remote_op: rpc_sync#aten::ones(worker1 -> worker0)");
            assertThat(nested.outcome()).isEqualTo(Outcome.DONE);
            assertContained(profile);
            assertThat(session.end()).isSameAs(session.end());
        }
    }

    @Test
    void aProfileEndsBeforeItsCalls() throws Exception {
        CompletableFuture<Response> inFlight;
        Profile profile;
        try (ProfileSession session = workers.profilers.get(0).begin(ProfilerConfig.cpu())) {
            inFlight = workers.workers
                    .get(0)
                    .callAsync(Route.request("test.route", "worker1 worker2 worker3")
                            .timeout(LIMIT));
            profile = session.end().withoutWaits();
        }
        inFlight.get(60, TimeUnit.SECONDS).close();
        assertThat(profile.events().get(0).name()).isEqualTo("rpc_async#test.route(worker0 -> worker1)");
    }

    @Test
    void recordsNothingOutsideOfAProfile() throws Exception {
        Profile profile = profile(() -> {});
        workers.rpcSync(0, "worker1", ones());
        assertThat(profile.events()).isEmpty();
        try (ProfileScope scope = workers.profilers.get(0).scope("foo")) {
            assertThat(workers.profilers.get(0).recordings()).isZero();
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"KINETO", "KINETO_GPU_FALLBACK", "KINETO_PRIVATEUSE1_FALLBACK", "CUDA"})
    void fallsBackToTheProcessor(ProfilerState state) throws Exception {
        Profile profile = profile(ProfilerConfig.cpu().withState(state), () -> workers.rpcSync(0, "worker1", ones()));
        assertThat(profile.events())
                .hasSize(2)
                .allSatisfy(event -> assertThat(event.device()).isEqualTo("cpu"));
    }

    @Test
    void aScopeEndsWithAFutureOnce() throws Exception {
        Profile profile = profile(() -> {
            try (ProfileScope scope = workers.profilers.get(0).scope("foo")) {
                CompletableFuture<Response> call =
                        scope.endWith(workers.workers.get(0).rpc().rpcAsync("worker1", ones()));
                assertThatThrownBy(() -> scope.endWith(call))
                        .isInstanceOf(IllegalStateException.class)
                        .hasMessageContaining("can only be called once.");
                try (Response response = call.get(60, TimeUnit.SECONDS)) {
                    assertThat(response.tensors()).hasSize(1);
                }
            }
        });
        assertThat(event(profile, "foo").outcome()).isEqualTo(Outcome.DONE);
        assertThat(event(profile, "foo").endNs())
                .isGreaterThanOrEqualTo(event(profile, "rpc_async#aten::ones(worker0 -> worker1)")
                        .beginNs());
    }
}
