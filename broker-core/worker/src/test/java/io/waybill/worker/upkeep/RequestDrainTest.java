package io.waybill.worker.upkeep;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.dispatch.DaemonThreads;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.ParkingSettings;
import io.waybill.dispatch.StuckSettings;
import io.waybill.home.note.NotedOutcomes;
import io.waybill.host.ManualClock;
import io.waybill.host.Threads;
import io.waybill.injection.InjectionSettings;
import io.waybill.intercept.InterceptorRegistry;
import io.waybill.rref.RRefSettings;
import io.waybill.worker.call.CallParts;
import io.waybill.worker.call.CallSettings;
import io.waybill.worker.peer.FlowLimits;
import io.waybill.worker.poll.PollContext;
import io.waybill.worker.poll.PollTimes;
import io.waybill.worker.poll.Poller;
import io.waybill.worker.poll.Waiting;
import io.waybill.worker.poll.WaitingCallers;
import io.waybill.worker.publish.PublishingRoom;
import io.waybill.worker.reference.WorkerReferences;
import io.waybill.worker.serve.OpenRequest;
import io.waybill.worker.serve.OpenedRequests;
import io.waybill.worker.serve.ServeParts;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.function.IntConsumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The end of serving: which requests a drain waits for, and for how long. */
@Timeout(60)
class RequestDrainTest {

    private static final Duration LIMIT = Duration.ofSeconds(10);
    private static final Duration STEP = Duration.ofMillis(100);

    @TempDir
    private Path directory;

    private final ManualClock clock = new ManualClock();
    private final List<OpenRequest> inHand = new ArrayList<>();
    private IntConsumer atPause = pause -> {};
    private int pauses;
    private PublishingRoom room;
    private PollContext polling;
    private ServeParts serving;
    private RequestDrain drain;

    @BeforeEach
    void open() throws Exception {
        room = new PublishingRoom(directory);
        HandlerRegistry registry = new HandlerRegistry(ParkingSettings.DEFAULT, room.host.threads(), clock);
        polling = new PollContext(
                "a", PollTimes.of(Waiting.BALANCED), room.host, room.directory.cursors(), room.directory.doorbell());
        Poller poller = new Poller(polling);
        WaitingCallers waiting = new WaitingCallers(polling, poller);
        InterceptorRegistry interceptors = new InterceptorRegistry(room.host);
        CallParts calling = new CallParts(
                new CallParts.Context(
                        room.host, room.context, polling, poller, waiting, room.links, interceptors.calls()),
                new CallParts.Settings(
                        new CallSettings(LIMIT, FlowLimits.defaults(), PublishingRoom.JOURNAL.maxRecordBytes(), false),
                        Duration.ZERO,
                        InjectionSettings.NONE,
                        1),
                room.requests,
                new NotedOutcomes(room.directory.path(), room.host));
        WorkerReferences references =
                new WorkerReferences(room.directory, RRefSettings.DEFAULTS, calling.calls, room.links);
        serving = new ServeParts(
                new ServeParts.Context(
                        room.directory,
                        registry,
                        interceptors,
                        polling,
                        poller,
                        room.context,
                        calling.calls,
                        references),
                room.responses,
                PublishingRoom.JOURNAL,
                StuckSettings.DEFAULT);
        Watchdog watchdog = new Watchdog(
                serving.invocations,
                serving.open,
                () -> {},
                new StuckCalls(StuckSettings.DEFAULT, registry, room.counters),
                clock);
        Threads pausing = new Threads() {
            @Override
            public Thread start(String name, Runnable body) {
                return new DaemonThreads().start(name, body);
            }

            @Override
            public void pause(long ns) {
                assertThat(++pauses).as("pauses of a drain that does not end").isLessThan(1000);
                atPause.accept(pauses);
            }
        };
        drain = new RequestDrain(
                room.host.withClock(clock).withThreads(pausing), serving.dispatcher, serving.open, waiting, watchdog);
    }

    @AfterEach
    void close() throws IOException {
        Thread.interrupted();
        room.close();
    }

    private void begin() {
        OpenRequest slot = OpenedRequests.add(serving.open, null); // nothing here looks at its handler
        OpenedRequests.open(slot, room.link(), 7 + inHand.size());
        inHand.add(slot);
    }

    private void end(int request) {
        OpenedRequests.close(inHand.get(request));
    }

    @Test
    void aDrainWithoutRequestsDoesNotWait() {
        drain.await(LIMIT);
        assertThat(pauses).as("pauses").isZero();
        assertThat(drain.exchangesHeld()).as("exchanges in use").isZero();
    }

    @Test
    void aDrainEndsWhenTheLastRequestHasEnded() {
        begin();
        begin();
        atPause = pause -> {
            if (pause == 1) {
                end(1);
            } else if (pause == 3) {
                end(0);
            }
        };
        drain.await(LIMIT);
        assertThat(pauses).as("pauses until the last request had ended").isEqualTo(3);
        assertThat(serving.open.count()).as("requests in flight").isZero();
    }

    @Test
    void noRequestIsBegunFromTheStartOfADrainOn() {
        assertThat(OpenedRequests.areRead(serving.dispatcher))
                .as("whether requests are begun before")
                .isTrue();
        begin();
        atPause = pause -> {
            assertThat(OpenedRequests.areRead(serving.dispatcher))
                    .as("whether requests are begun while it waits")
                    .isFalse();
            end(0);
        };
        drain.await(LIMIT);
        assertThat(OpenedRequests.areRead(serving.dispatcher))
                .as("whether requests are begun afterwards")
                .isFalse();
    }

    @Test
    void aDrainEndsAtItsLimit() {
        begin();
        atPause = pause -> clock.advance(STEP);
        drain.await(LIMIT);
        assertThat(pauses)
                .as("pauses of %d ms until %d ms had passed", STEP.toMillis(), LIMIT.toMillis())
                .isEqualTo((int) LIMIT.dividedBy(STEP));
        assertThat(serving.open.count()).as("requests in flight").isEqualTo(1);
    }

    @Test
    void aDrainWithoutALimitOfTimeDoesNotWait() {
        begin();
        drain.await(Duration.ZERO);
        assertThat(pauses).as("pauses").isZero();
        assertThat(OpenedRequests.areRead(serving.dispatcher))
                .as("whether requests are begun afterwards")
                .isFalse();
    }

    @Test
    void anInterruptEndsADrainAndStaysPending() {
        begin();
        atPause = pause -> Thread.currentThread().interrupt();
        drain.await(LIMIT);
        assertThat(pauses).as("pauses until the interrupt").isEqualTo(1);
        assertThat(Thread.currentThread().isInterrupted())
                .as("whether the interrupt is pending")
                .isTrue();
    }

    @Test
    void aDrainCanBeRepeated() {
        begin();
        drain.await(Duration.ZERO);
        atPause = pause -> end(0);
        drain.await(LIMIT);
        assertThat(pauses).as("pauses of the second drain").isEqualTo(1);
    }

    /** It may begin requests that it has read already. */
    @Test
    void aDrainWaitsForAThreadThatPollsAndForWhatItBegins() throws Exception {
        CountDownLatch polls = new CountDownLatch(1);
        CountDownLatch goOn = new CountDownLatch(1);
        Thread poll = new DaemonThreads().start("polls", () -> {
            assertThat(polling.permit().tryAcquire()).isTrue();
            polls.countDown();
            await(goOn);
            begin();
            polling.permit().release();
        });
        polls.await();
        List<String> steps = new ArrayList<>();
        atPause = pause -> {
            if (steps.isEmpty()) {
                steps.add("the poll ends");
                goOn.countDown();
                join(poll);
            } else {
                steps.add("its request ends");
                end(0);
            }
        };
        drain.await(LIMIT);
        assertThat(steps).as("what the drain has waited for").containsExactly("the poll ends", "its request ends");
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static void join(Thread thread) {
        try {
            thread.join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
