package io.waybill.metrics.otlp;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.ErrorCode;
import io.waybill.api.context.TraceContext;
import io.waybill.api.event.CallEvent.Kind;
import io.waybill.testing.core.TestEvent;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The spans that events of calls make. */
@Timeout(180)
class CallSpansTest {

    private static final TraceContext TRACE = new TraceContext(1, 2, 3, TraceContext.SAMPLED, "");
    private static final long SPAN = 77;

    private final CallSpans spans = new CallSpans();

    private static TestEvent event(Kind kind, long id, long timeNs) {
        return TestEvent.of(kind, id, "text.count", timeNs);
    }

    private static TestEvent traced(Kind kind, long id, long timeNs) {
        return event(kind, id, timeNs).traced(TRACE, SPAN);
    }

    private List<ExportedSpan> taken() throws InterruptedException {
        List<ExportedSpan> taken = new ArrayList<>();
        spans.take(taken, 100_000, 0);
        return taken;
    }

    @Test
    void haveTheIdOnRecordOnTheCalleesSide() throws Exception {
        spans.onEvent(traced(Kind.BEGUN, 5, 1000));
        spans.onEvent(traced(Kind.RESPONDED, 5, 4000).failed(ErrorCode.HANDLER_FAILED));
        assertThat(taken()).singleElement().satisfies(span -> {
            assertThat(span.spanId()).isEqualTo(SPAN);
            assertThat(span.parentId()).isEqualTo(3);
            assertThat(span.startNs()).isEqualTo(1000);
            assertThat(span.endNs()).isEqualTo(4000);
            assertThat(span.error()).isEqualTo(ErrorCode.HANDLER_FAILED);
            assertThat(span.isOfCaller()).isFalse();
        });
    }

    @Test
    void linkTheCallersSideToIt() throws Exception {
        spans.onEvent(traced(Kind.APPENDED, 5, 1000));
        spans.onEvent(event(Kind.ENDED, 5, 3000));
        assertThat(taken()).singleElement().satisfies(span -> {
            assertThat(span.linkedId()).isEqualTo(SPAN);
            assertThat(span.spanId()).isNotEqualTo(SPAN).isNotZero();
            assertThat(span.parentId()).isEqualTo(3);
            assertThat(span.isOfCaller()).isTrue();
        });
    }

    @Test
    void areWholeWhenTheEndIsSeenBeforeTheBegin() throws Exception {
        spans.onEvent(event(Kind.ENDED, 5, 3000).failed(ErrorCode.TIMED_OUT));
        spans.onEvent(traced(Kind.APPENDED, 5, 1000));
        assertThat(taken())
                .singleElement()
                .satisfies(span -> assertThat(span.error()).isEqualTo(ErrorCode.TIMED_OUT));
    }

    @Test
    void areOneForEachCallWhoseEventsRace() throws Exception {
        CyclicBarrier both = new CyclicBarrier(2);
        int calls = 3000;
        Thread ending = new Thread(() -> {
            for (long id = 1; id <= calls; id++) {
                await(both);
                spans.onEvent(event(Kind.ENDED, id, 3000));
            }
        });
        ending.start();
        for (long id = 1; id <= calls; id++) {
            await(both);
            spans.onEvent(traced(Kind.APPENDED, id, 1000));
        }
        ending.join();
        assertThat(taken().stream().map(ExportedSpan::messageId).distinct()).hasSize(calls);
        assertThat(taken()).isEmpty();
    }

    private static void await(CyclicBarrier barrier) {
        try {
            barrier.await(120, TimeUnit.SECONDS);
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    void areThereForARefusalAndNotForMessagesInsideOthers() throws Exception {
        spans.onEvent(traced(Kind.RESPONDED, 5, 4000).failed(ErrorCode.REFUSED));
        spans.onEvent(traced(Kind.BEGUN, 6, 1000).inside(1));
        spans.onEvent(traced(Kind.RESPONDED, 6, 4000).inside(1));
        assertThat(taken())
                .singleElement()
                .satisfies(span -> assertThat(span.messageId()).isEqualTo(5));
    }

    @Test
    void areNotMadeOfCallsThatAreNotSampled() throws Exception {
        TraceContext unsampled = new TraceContext(1, 2, 3, 0, "");
        for (Kind kind : new Kind[] {Kind.APPENDED, Kind.BEGUN, Kind.RESPONDED, Kind.ENDED}) {
            spans.onEvent(event(kind, 5, 1000).traced(unsampled, SPAN));
            spans.onEvent(event(kind, 6, 1000));
        }
        assertThat(taken()).isEmpty();
    }

    @Test
    void areDroppedAndCountedWithoutRoom() throws Exception {
        for (long id = 1; id <= CallSpans.MAX_ENDED + 10; id++) {
            spans.onEvent(traced(Kind.RESPONDED, id, 1000));
        }
        assertThat(spans.dropped()).isEqualTo(10);
        assertThat(taken()).hasSize(CallSpans.MAX_ENDED);
        for (long id = 1; id <= CallSpans.MAX_OPEN + 5; id++) {
            spans.onEvent(traced(Kind.BEGUN, id, 1000));
        }
        assertThat(spans.dropped()).isEqualTo(15);
        spans.forgetOld(1000 + TimeUnit.HOURS.toNanos(1));
        assertThat(spans.dropped()).as("an hour has not passed").isEqualTo(15);
        spans.forgetOld(1001 + TimeUnit.HOURS.toNanos(1));
        assertThat(spans.dropped()).isEqualTo(15 + CallSpans.MAX_OPEN);
        spans.onEvent(traced(Kind.BEGUN, 1, 1000));
        assertThat(spans.dropped()).as("there is room again").isEqualTo(15 + CallSpans.MAX_OPEN);
    }
}
