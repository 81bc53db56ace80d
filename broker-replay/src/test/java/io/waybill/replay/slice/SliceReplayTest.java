package io.waybill.replay.slice;

import static io.waybill.replay.slice.SlicedHome.ASK;
import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.query.MessageFilter;
import io.waybill.replay.Replay;
import io.waybill.replay.ReplayReport;
import io.waybill.replay.compare.ReplayedCall;
import io.waybill.replay.compare.Verdict;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A slice is replayed like the home that it was made from. */
@Timeout(120)
class SliceReplayTest {

    private static final MessageFilter ASKED =
            new MessageFilter.Builder().type(ASK).build();

    @TempDir
    private Path directory;

    private static List<ReplayedCall> replay(SlicedHome home, Path of) throws IOException {
        List<ReplayedCall> calls = new ArrayList<>();
        ReplayReport report = Replay.of(of)
                .worker("front")
                .select(ASKED)
                .with("same", (registry, worker) -> home.fill(registry))
                .run(calls::add);
        assertThat(report.problems()).isEmpty();
        return calls;
    }

    private static List<String> results(List<ReplayedCall> calls) {
        return calls.stream()
                .map(call -> call.call().id() + " " + verdict(call))
                .toList();
    }

    private static Verdict verdict(ReplayedCall call) {
        return call.results().get(0).verdict();
    }

    @Test
    void hasTheSameResults() throws Exception {
        try (SlicedHome home = new SlicedHome(directory).calls(60)) {
            Path slice = directory.resolve("calls.slice");
            home.slice(ASKED, Payloads.FULL, slice);
            List<ReplayedCall> ofHome = replay(home, home.home.path());
            assertThat(ofHome).hasSize(60).allMatch(call -> verdict(call) == Verdict.SAME);
            assertThat(results(replay(home, slice))).isEqualTo(results(ofHome));
        }
    }

    @Test
    void saysThatItsPayloadsWereLeftOut() throws Exception {
        try (SlicedHome home = new SlicedHome(directory).calls(20)) {
            Path slice = directory.resolve("calls.slice");
            home.slice(ASKED, Payloads.NONE, slice);
            assertThat(replay(home, slice)).hasSize(20).allSatisfy(call -> {
                assertThat(verdict(call)).isEqualTo(Verdict.NOT_REPLAYABLE);
                assertThat(call.results().get(0).reason()).contains("--payloads none");
            });
        }
    }
}
