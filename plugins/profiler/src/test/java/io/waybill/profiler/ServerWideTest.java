package io.waybill.profiler;

import static io.waybill.profiler.ProfiledWorkers.invocation;
import static io.waybill.profiler.ProfiledWorkers.ones;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.CallException;
import io.waybill.api.Request;
import io.waybill.api.Value;
import io.waybill.api.tensor.Tensor;
import io.waybill.profiler.ProfiledWorkers.Route;
import io.waybill.profiler.profile.Profile;
import io.waybill.profiler.profile.ProfileEvent;
import io.waybill.profiler.profile.ProfileEvent.Outcome;
import io.waybill.profiler.profile.ProfilerConfig;
import io.waybill.testing.core.Waits;
import java.lang.ref.WeakReference;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The server-wide profiler: ranges in ranges see the requests that the worker serves, from any caller. */
@Timeout(value = 5, unit = TimeUnit.MINUTES)
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class ServerWideTest {

    private static final int TIMES = 1_000;

    private ProfiledWorkers workers;
    private RemoteProfiler served; // of worker1

    @BeforeAll
    void join(@TempDir Path directory) throws Exception {
        workers = ProfiledWorkers.of(directory.resolve("home"), 3);
        served = workers.profilers.get(1);
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

    private ServerProfileSession begin() {
        return served.beginServerProcessGlobal(ProfilerConfig.cpu());
    }

    private static List<String> names(Profile profile) {
        return profile.withoutWaits().events().stream().map(ProfileEvent::name).toList();
    }

    /** A request is in a profile once it has ended in its worker, which may be after its caller has the response. */
    private static void await(ServerProfileSession session, int count) {
        Waits.until(
                () -> "expected " + count + " events, found " + names(session.profile()),
                () -> names(session.profile()).size() == count);
    }

    @Test
    void anInnerRangeHasWhatIsServedInItAndAnOuterOneHasAll() throws Exception {
        Tensor vector = ProfiledWorkers.vector(2);
        Value value = Value.of(vector);
        try (ServerProfileSession outer = begin()) {
            workers.rpcSync(0, "worker1", invocation("aten::add", value, value));
            await(outer, 1);
            try (ServerProfileSession inner = begin()) {
                workers.rpcSync(2, "worker1", invocation("aten::sub", value, value));
                await(inner, 1);
                assertThat(names(inner.end())).containsExactly("aten::sub");
            }
            assertThat(names(outer.end())).containsExactly("aten::add", "aten::sub");
            workers.rpcSync(0, "worker1", ones());
            assertThat(names(outer.end())).as("once it is closed").hasSize(2);
        }
        vector.storage().release();
    }

    @Test
    void hasTheCallsOfItsHandlersAndNothingOfTheirCallees() throws Exception {
        try (ServerProfileSession session = begin()) {
            workers.workers
                    .get(0)
                    .call(Route.request("test.route", "worker1 worker2"))
                    .close();
            await(session, 2);
            Profile profile = session.end().withoutWaits();
            assertThat(names(profile)).containsExactly("test.route", "rpc_sync#aten::ones(worker1 -> worker2)");
            assertThat(profile.events()).extracting(ProfileEvent::parent).containsExactly(-1, 0);
            assertThat(profile.events()).extracting(ProfileEvent::worker).containsOnly(1);
            assertThat(session.profile().events())
                    .as("a wait for a thread")
                    .anyMatch(event -> event.name().equals("waybill::thread") && event.parent() < 0);
            assertThat(workers.profilers.get(2).recordings()).isZero();
        }
    }

    @Test
    void hasAProfiledCallToo() throws Exception {
        try (ServerProfileSession session = begin()) {
            Profile profile =
                    workers.profilers.get(0).profile(ProfilerConfig.cpu(), () -> workers.rpcSync(0, "worker1", ones()));
            assertThat(names(profile)).hasSize(2);
            await(session, 1);
            assertThat(names(session.end())).containsExactly("aten::ones");
        }
    }

    @Test
    void hasRequestsThatFailAndThoseThatRespondLater() throws Exception {
        try (ServerProfileSession session = begin()) {
            assertThatThrownBy(() -> workers.workers.get(0).call(Request.operation("worker1", "test.bad")))
                    .isInstanceOf(CallException.class);
            Request later = Request.operation("worker1", "test.async");
            later.body().text("route", "worker2");
            workers.workers.get(0).call(later).close();
            await(session, 4);
            Profile profile = session.end().withoutWaits();
            assertThat(names(profile))
                    .containsExactlyInAnyOrder(
                            "test.bad",
                            "rpc_sync#aten::ones(worker1 -> worker0)",
                            "test.async",
                            "rpc_async#aten::ones(worker1 -> worker2)");
            assertThat(profile.events())
                    .filteredOn(event -> event.name().equals("test.bad"))
                    .allSatisfy(event -> assertThat(event.outcome()).isEqualTo(Outcome.FAILED));
        }
    }

    /** Callers that call all the time. */
    private final class Load implements AutoCloseable {

        final AtomicLong calls = new AtomicLong();
        private final AtomicBoolean ends = new AtomicBoolean();
        private final AtomicReference<RuntimeException> failure = new AtomicReference<>();
        private final List<Thread> threads = new ArrayList<>();

        Load() {
            for (int from : new int[] {0, 2}) {
                Thread thread = new Thread(() -> run(from));
                threads.add(thread);
                thread.start();
            }
        }

        private void run(int from) {
            try {
                while (!ends.get()) {
                    workers.workers
                            .get(from)
                            .call(Route.request("test.route", "worker1 worker" + (2 - from))
                                    .timeout(Duration.ofMinutes(2)))
                            .close();
                    calls.incrementAndGet();
                }
            } catch (RuntimeException e) {
                failure.set(e);
            }
        }

        @Override
        public void close() {
            ends.set(true);
            Waits.until("a caller does not end", () -> threads.stream().noneMatch(Thread::isAlive));
            assertThat(failure.get()).as("a call that failed").isNull();
        }
    }

    @Test
    void startsAndStopsAThousandTimesUnderLoad() throws Exception {
        List<WeakReference<Profile>> profiles = new ArrayList<>();
        long recorded = 0;
        try (Load load = new Load()) {
            for (int i = 0; i < TIMES; i++) {
                long before = load.calls.get();
                try (ServerProfileSession session = begin()) {
                    if (i % 10 == 0) {
                        Waits.until("no call is served", () -> load.calls.get() > before + 2);
                    }
                    Profile profile = session.end().withoutWaits();
                    recorded += profile.events().size();
                    profiles.add(new WeakReference<>(profile));
                }
            }
        }
        assertThat(recorded).as("events").isGreaterThan(TIMES / 10);
        Waits.until("requests are recorded although no range is open", () -> served.recordings() == 0);
        Waits.until("profiles are kept", () -> {
            System.gc();
            return profiles.stream().allMatch(each -> each.get() == null);
        });
    }
}
