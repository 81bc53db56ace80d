package io.waybill.profiler;

import static io.waybill.profiler.ProfiledWorkers.ENGINE;
import static io.waybill.profiler.ProfiledWorkers.NATIVES;
import static io.waybill.profiler.ProfiledWorkers.invocation;
import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.Invocation;
import io.waybill.api.Request;
import io.waybill.api.Value;
import io.waybill.profiler.profile.Profile;
import io.waybill.profiler.profile.ProfileEvent;
import io.waybill.profiler.profile.ProfilerConfig;
import io.waybill.script.ServedScript;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The page of a computation over three workers. {@code -Dwaybill.profile.page=FILE} keeps it: docs/extending/profiling.md has a picture of it. */
@Timeout(value = 5, unit = TimeUnit.MINUTES)
@SuppressWarnings("try")
class ProfilePictureTest {

    private static final int CALLS_BEFORE =
            200; // until the code is compiled, so that the picture is of calls and not of a start

    private static final int PROFILES = 50;

    private static final String SCRIPT = """
            import torch

            def layer(x):
                return torch.relu(torch.mm(x, x) * 0.01 + 1.0)
            """;

    @TempDir
    private Path directory;

    @Test
    void isWrittenOfThreeWorkers() throws Exception {
        Path file = Path.of(System.getProperty(
                "waybill.profile.page", directory.resolve("profile.html").toString()));
        Value matrix = ENGINE.run(invocation("aten::ones", Value.ints(256, 256)));
        try (ServedScript script = new ServedScript(ENGINE, directory.resolve("model.py"), SCRIPT);
                ProfiledWorkers workers = ProfiledWorkers.of(
                        directory.resolve("home"),
                        3,
                        (joining, id) -> joining.with("function:model.layer", script.handler())
                                .with("test.step", (message, outbox) -> {
                                    Invocation layer = invocation("model.layer", matrix);
                                    for (int i = 0; i < 2; i++) {
                                        outbox.rpc().rpcSync("worker2", layer).close();
                                    }
                                    outbox.respond(Value.of(1));
                                }))) {
            RemoteProfiler profiler = workers.profilers.get(0);
            try (OperatorRecorder operators = new OperatorRecorder(workers.profilers.get(2), NATIVES)) {
                for (int i = 0; i < CALLS_BEFORE; i++) {
                    step(workers, profiler);
                }
                Profile shortest = profiler.profile(ProfilerConfig.cpu(), () -> step(workers, profiler));
                for (int i = 0; i < PROFILES; i++) { // a busy machine delays most of them
                    Profile next = profiler.profile(ProfilerConfig.cpu(), () -> step(workers, profiler));
                    shortest = first(next).durationNs() < first(shortest).durationNs() ? next : shortest;
                }
                Files.writeString(file, shortest.html());
            }
            assertThat(file).content().contains("aten::mm", "test.step", "worker2", "<h2>Time by name</h2>");
        }
        ((Value.OfTensor) matrix).value().storage().release();
    }

    private static ProfileEvent first(Profile profile) {
        return profile.events().get(0);
    }

    private static void step(ProfiledWorkers workers, RemoteProfiler profiler) {
        try (ProfileScope scope = profiler.scope("step")) {
            workers.workers
                    .get(0)
                    .call(Request.operation("worker1", "test.step"))
                    .close();
            workers.rpcSync(0, "worker2", invocation("aten::ones", Value.ints(8, 8)));
        }
    }
}
