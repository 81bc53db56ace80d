package io.waybill.worker.upkeep;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.CallException;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.ResponseListener;
import io.waybill.api.Value;
import io.waybill.api.intercept.CallInterceptor;
import io.waybill.api.intercept.FailedAttempt;
import io.waybill.api.intercept.OutgoingCall;
import io.waybill.dispatch.Provider;
import io.waybill.host.Host;
import io.waybill.host.ManualClock;
import io.waybill.host.Threads;
import io.waybill.intercept.InterceptorSpec;
import io.waybill.worker.call.CallingRoom;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The wait of {@link CallDrain} for calls of a worker that runs nothing: only the test polls. */
@Timeout(60)
class DrainedCallsTest {

    private static final Duration LIMIT = Duration.ofHours(1);

    @TempDir
    private Path directory;

    private final ManualClock clock = new ManualClock();
    private final AtomicInteger pauses = new AtomicInteger();
    private final CountDownLatch entered = new CountDownLatch(1);
    private final CountDownLatch hold = new CountDownLatch(1);
    private Runnable onPause = () -> {};
    private CallingRoom room;
    private CallDrain drain;

    @BeforeEach
    void open() throws Exception {
        room = new CallingRoom(directory);
        Threads pausing = new Threads() {
            @Override
            public Thread start(String name, Runnable body) {
                throw new AssertionError("a drain starts no thread");
            }

            @Override
            public void pause(long ns) {
                pauses.incrementAndGet();
                onPause.run();
                clock.advance(Duration.ofMinutes(1));
            }
        };
        drain = new CallDrain(Host.real().withClock(clock).withThreads(pausing), room.parts, room.waiting);
    }

    @AfterEach
    void close() throws IOException {
        hold.countDown();
        Thread.interrupted();
        room.close();
    }

    private int await(Duration limit) {
        return drain.await(limit, () -> false);
    }

    private long call() {
        return room.calls.call(CallingRoom.request(), new ResponseListener() {
            @Override
            public void onResponse(Response response) {
                entered.countDown();
                awaitLatch(hold);
            }

            @Override
            public void onFailure(CallException failure) {}
        });
    }

    private static void awaitLatch(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void respond(long id) {
        try {
            room.respond(id, Value.NONE);
        } catch (Exception e) {
            throw new AssertionError(e);
        }
    }

    /** Polls once, with the permit. */
    private void poll() {
        assertThat(room.permit.tryAcquire()).as("the permit is free").isTrue();
        room.poll();
        room.permit.release();
    }

    @Test
    void endsWhenTheLastCallIsCompleted() {
        hold.countDown();
        long first = call();
        long second = call();
        assertThat(await(Duration.ZERO)).as("open calls").isEqualTo(2);
        respond(first);
        poll();
        assertThat(await(Duration.ZERO)).as("open calls after a response").isEqualTo(1);
        onPause = () -> {
            if (pauses.get() == 3) {
                respond(second);
                poll();
            }
        };
        assertThat(await(LIMIT)).as("open calls after both").isZero();
        assertThat(pauses).as("pauses until the second response").hasValue(3);
    }

    @Test
    void endsAtItsLimitWithTheNumberOfOpenCalls() {
        call();
        assertThat(await(LIMIT)).as("open calls").isEqualTo(1);
        assertThat(pauses).as("pauses of a minute in an hour").hasValue(60);
    }

    @Test
    void endsAtAnInterruptWhichStaysPending() {
        call();
        onPause = () -> Thread.currentThread().interrupt();
        assertThat(await(LIMIT)).as("open calls").isEqualTo(1);
        assertThat(pauses).as("pauses before the interrupt").hasValue(1);
        assertThat(Thread.interrupted()).as("interrupted").isTrue();
    }

    /** Its call is no longer pending. */
    @Test
    void waitsForAListenerOnAThreadThatPolls() throws InterruptedException {
        respond(call());
        Thread polling = Host.real().threads().start("polling", this::poll);
        awaitLatch(entered);
        assertThat(room.parts.pending.size())
                .as("pending calls while a listener runs")
                .isZero();
        assertThat(await(Duration.ZERO)).as("open calls while a listener runs").isEqualTo(1);
        assertThat(drain.await(LIMIT, () -> true))
                .as("open calls of a closed worker")
                .isZero();
        hold.countDown();
        polling.join();
        assertThat(await(Duration.ZERO)).as("open calls after the listener").isZero();
    }

    @Test
    void waitsForACallBetweenTwoAttempts() {
        room.interceptors
                .calls()
                .add(InterceptorSpec.ofAll(
                        new CallInterceptor() {
                            @Override
                            public void onRequest(OutgoingCall call) {
                                call.keep();
                            }

                            @Override
                            public void onAttemptFailed(FailedAttempt attempt) {
                                attempt.repeat(LIMIT);
                            }
                        },
                        new Provider("repeating", "1.0.0")));
        room.calls.callAsync(Request.operation("nobody", "text.echo").timeout(LIMIT.multipliedBy(2)));
        assertThat(room.parts.pending.size()).as("pending calls").isZero();
        assertThat(await(Duration.ZERO)).as("open calls").isEqualTo(1);
    }
}
