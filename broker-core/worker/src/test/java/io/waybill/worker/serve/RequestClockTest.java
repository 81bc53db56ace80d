package io.waybill.worker.serve;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.ErrorCode;
import io.waybill.api.MessageId;
import io.waybill.handling.Failure;
import io.waybill.host.Clock;
import io.waybill.host.ForwardingClock;
import io.waybill.host.ManualClock;
import io.waybill.wire.MessageBuffer;
import io.waybill.wire.RecordView;
import io.waybill.worker.publish.PublishingContext;
import io.waybill.worker.publish.PublishingRoom;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** How old the time is by which the deadlines of requests are checked. */
@Timeout(60)
class RequestClockTest {

    private static final int MAX_SERVED = 8;

    private final ManualClock manual = new ManualClock();
    private final Readings clock = new Readings(manual);
    private final MessageBuffer buffer = new MessageBuffer();
    private final RecordView request = new RecordView(buffer);
    private PublishingRoom room;
    private ResponseWriter responses;
    private RequestClock time;
    private long sentNs;

    /** Counts the readings of the time for deadlines. */
    private static final class Readings extends ForwardingClock {
        private int count;

        Readings(Clock clock) {
            super(clock);
        }

        @Override
        public long bootNs() {
            count++;
            return super.bootNs();
        }

        @Override
        public long wallNsAt(long bootNs) {
            return bootNs; // as of a clock that is read once
        }
    }

    @BeforeEach
    void open(@TempDir Path directory) throws Exception {
        room = new PublishingRoom(directory);
        PublishingContext context = new PublishingContext(
                room.directory.info(),
                manual,
                room.transit,
                PublishingRoom.JOURNAL.maxRecordBytes(),
                room.context.reports(),
                room.counters);
        responses = new ResponseWriter(context, room.responses, room.slots);
        time = new RequestClock(clock, responses);
        sentNs = manual.wallNs();
    }

    @AfterEach
    void close() throws IOException {
        room.close();
    }

    private void read() {
        int id = room.directory.id();
        buffer.begin(ServingRoom.TYPE, MessageId.of(id, 1), id, id, 0, 0).sentNs(sentNs);
    }

    /** Returns the time for a request that was sent at {@link #sentNs}. */
    private long nowNs() {
        read();
        return time.nowNs(request);
    }

    private void respond() {
        read();
        ResponseBody.OfError error = new ResponseBody.OfError(Failure.of(ErrorCode.REFUSED, 1, "no"));
        error.respondsTo(responses, room.link(), request);
        responses.fail(error);
    }

    @Test
    void theClockIsReadForTheFirstRequest() {
        assertThat(nowNs()).as("time for the first request").isEqualTo(manual.bootNs());
    }

    @Test
    void theClockIsNotReadForEachRequest() {
        nowNs();
        clock.count = 0;
        long before = manual.bootNs();
        manual.advance(Duration.ofSeconds(1));
        assertThat(nowNs()).as("time for the second request").isEqualTo(before);
        assertThat(clock.count).as("readings of the clock").isZero();
    }

    @Test
    void theTimeIsAFewRequestsOldAtMost() {
        nowNs();
        manual.advance(Duration.ofSeconds(1));
        int served = 1;
        while (nowNs() < manual.bootNs() && served < 1000) {
            served++;
        }
        assertThat(served).as("requests with one reading").isLessThanOrEqualTo(MAX_SERVED);
    }

    @Test
    void aRequestThatWasSentAfterTheLastReadingCausesANewOne() {
        nowNs();
        manual.advance(Duration.ofSeconds(1));
        sentNs = manual.wallNs();
        assertThat(nowNs()).as("time for a request after a pause").isEqualTo(manual.bootNs());
        clock.count = 0;
        nowNs();
        assertThat(clock.count).as("readings for another one of that time").isZero();
    }

    @Test
    void aRequestThatWasSentWithTheLastReadingCausesNone() {
        nowNs();
        long before = manual.bootNs();
        manual.advance(Duration.ofMillis(1));
        sentNs = manual.wallNs();
        assertThat(nowNs())
                .as("time for a request that was sent just after the reading")
                .isEqualTo(before);
    }

    @Test
    void aResponseAfterTheLastReadingCausesANewOne() {
        nowNs();
        manual.advance(Duration.ofSeconds(1));
        respond();
        assertThat(nowNs()).as("time for the request after a response").isEqualTo(manual.bootNs());
        clock.count = 0;
        nowNs();
        assertThat(clock.count).as("readings for the request after that").isZero();
    }

    @Test
    void aReadingOfThePollerIsUsedForTheNextRequests() {
        nowNs();
        manual.advance(Duration.ofSeconds(1));
        long polledNs = manual.bootNs();
        time.now(polledNs);
        clock.count = 0;
        manual.advance(Duration.ofSeconds(1));
        int served = 0;
        while (served < 1000 && nowNs() == polledNs) {
            served++;
        }
        assertThat(served).as("requests with the poller's reading").isBetween(1, MAX_SERVED);
        assertThat(clock.count).as("readings for the request after them").isEqualTo(1);
    }

    @Test
    void timeThatTheHostSleptIsCounted() {
        nowNs();
        manual.suspend(Duration.ofHours(1));
        sentNs = manual.wallNs();
        assertThat(nowNs()).as("time after the host slept").isEqualTo(manual.bootNs());
    }
}
