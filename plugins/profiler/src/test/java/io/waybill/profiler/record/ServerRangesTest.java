package io.waybill.profiler.record;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.handler.RequestArrival;
import io.waybill.profiler.profile.ProfileEvent;
import io.waybill.profiler.profile.ProfilerConfig;
import io.waybill.profiler.record.ServerRanges.ServedRequest;
import io.waybill.testing.core.TestMessage;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Ranges of the server-wide profiler by themselves: their limit, and what becomes of requests without an end. */
@Timeout(value = 2, unit = TimeUnit.MINUTES)
class ServerRangesTest {

    private static final int MAX_EVENTS = 100_000;

    private final Recordings recordings = new Recordings();
    private final ServerRanges ranges = new ServerRanges(recordings, 1, InstantSource.system());

    private ServedRequest begin() {
        ServedRequest request = ranges.begin(TestMessage.of("text.count", Map.of()));
        request.begin("text.count", List.of(), new RequestArrival(1, 1, 1, 1, 1, 1));
        return request;
    }

    @Test
    void countsTheEventsForWhichThereIsNoRoom() {
        ServerRange range = ranges.begin(ProfilerConfig.cpu());
        for (int i = 0; i < MAX_EVENTS + 3; i++) {
            ranges.end(begin());
        }
        assertThat(range.events()).hasSize(MAX_EVENTS);
        assertThat(range.dropped()).isEqualTo(3);
    }

    @Test
    void forgetsRequestsThatDoNotEndWithTheLastRange() {
        ServerRange outer = ranges.begin(ProfilerConfig.cpu());
        ServerRange inner = ranges.begin(ProfilerConfig.cpu());
        ServedRequest request = begin();
        ranges.end(inner);
        assertThat(ranges.inFlight()).isOne();
        assertThat(recordings.size()).isOne();
        ranges.end(outer);
        assertThat(ranges.inFlight()).isZero();
        assertThat(recordings.size()).isZero();
        ranges.end(request);
        assertThat(outer.events()).as("of a request that ended after the range").isEmpty();
        assertThat(ranges.begin(TestMessage.of("text.count", Map.of()))).isNull();
    }

    @Test
    void keepsCausesWithinTheirRequest() {
        ServerRange range = ranges.begin(ProfilerConfig.cpu());
        for (int i = 0; i < 2; i++) {
            ServedRequest request = begin();
            request.recording().begin(ProfileEvent.Kind.SCOPE, "inside", 0, List.of());
            ranges.end(request);
        }
        assertThat(range.events())
                .extracting(ProfileEvent::parent)
                .containsExactly(ProfileEvent.NO_PARENT, 0, ProfileEvent.NO_PARENT, 2);
    }
}
