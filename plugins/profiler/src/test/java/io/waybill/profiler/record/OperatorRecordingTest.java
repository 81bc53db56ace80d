package io.waybill.profiler.record;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.profiler.message.ProfilingId;
import io.waybill.profiler.profile.ProfileEvent;
import io.waybill.profiler.profile.ProfileEvent.Outcome;
import io.waybill.profiler.profile.ProfilerConfig;
import java.time.InstantSource;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The operators of a recording by itself. */
@Timeout(value = 1, unit = TimeUnit.MINUTES)
class OperatorRecordingTest {

    @Test
    void endsItsFirstOperatorAsTheOthers() {
        InstantSource clock = InstantSource.system();
        Recording recording = new Recording(new ProfilingId(1, 1), 1, ProfilerConfig.cpu(), 0, clock, clock);
        int first = recording.beginOperator("aten::add", ProfileEvent.NO_PARENT, List.of());
        int inner = recording.beginOperator("aten::empty", first, List.of());
        recording.endOperator(inner);
        recording.endOperator(first);
        recording.beginOperator("aten::mul", ProfileEvent.NO_PARENT, List.of());
        assertThat(recording.close())
                .extracting(event -> event.name() + " " + event.outcome())
                .containsExactly(
                        "aten::add " + Outcome.DONE, "aten::empty " + Outcome.DONE, "aten::mul " + Outcome.UNFINISHED);
    }
}
