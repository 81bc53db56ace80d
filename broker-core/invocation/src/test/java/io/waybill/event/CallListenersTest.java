package io.waybill.event;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.waybill.api.ErrorCode;
import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.api.event.CallEvent.Kind;
import io.waybill.api.event.CallEvents;
import io.waybill.host.Host;
import io.waybill.host.ManualClock;
import io.waybill.testing.core.Waits;
import java.lang.ref.WeakReference;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.LongStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.slf4j.LoggerFactory;

/** A listener that does not return, and the other threads that come to it. */
@Timeout(300)
class CallListenersTest {

    private static final String PROVIDER = "org.acme.slow 1";

    private final ManualClock clock = new ManualClock();
    private final CallListeners listeners = new CallListeners(Host.real().threads(), clock);
    private final CountDownLatch hold = new CountDownLatch(1);
    private final AtomicInteger inside = new AtomicInteger();
    private final List<Long> seen = Collections.synchronizedList(new ArrayList<>());

    @AfterEach
    void letGo() {
        hold.countDown();
    }

    /** Hangs in the event of call 1, until the test lets it go. */
    private void addHanging() {
        listeners.add(PROVIDER, event -> {
            if (event.id() == 1) {
                inside.incrementAndGet();
                awaitHold();
            }
            seen.add(event.id());
        });
    }

    private void awaitHold() {
        boolean interrupted = false;
        while (hold.getCount() > 0) {
            try {
                hold.await(60, TimeUnit.SECONDS);
            } catch (InterruptedException e) {
                interrupted = true; // it does not care
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private void notifyOf(long id) {
        listeners.notify(listeners.own().open(Kind.BEGUN, id, 3, MessageType.NAMED_CALL));
    }

    private Thread hangingThread() {
        Thread thread = new Thread(() -> notifyOf(1), "hanging");
        thread.start();
        Waits.until("it is inside", () -> inside.get() == 1);
        return thread;
    }

    private void lookAfter(long ms) {
        clock.advance(Duration.ofMillis(ms));
        listeners.look(clock.monotonicNs());
    }

    /** A thread's event refers to the entry that it called last. */
    @Test
    void aRemovedListenerCanBeCollectedWhileThreadsThatCalledItLive() {
        AtomicInteger calls = new AtomicInteger();
        CallEvents listener = event -> calls.incrementAndGet();
        WeakReference<CallEvents> reference = new WeakReference<>(listener);
        CallListeners.Registration registration = listeners.add(PROVIDER, listener);
        listener = null;
        notifyOf(1);
        assertThat(calls).hasValue(1);
        registration.remove();
        Waits.until("the removed listener is collected, although its thread has called no other", () -> {
            System.gc();
            return reference.refersTo(null);
        });
    }

    /** The view is reused for all events of a thread. */
    @Test
    void anEventHasNothingOfTheOneBefore() {
        List<String> shown = new ArrayList<>();
        listeners.add(
                PROVIDER,
                event -> shown.add(event.operation() + " of " + event.parentId() + ", " + event.bytes() + " bytes, "
                        + event.tensors() + " tensors, error " + event.error() + ", span " + event.spanId()));
        byte[] name = "text.count".getBytes(StandardCharsets.UTF_8);
        EventView view = listeners.own().open(Kind.ENDED, 1, 3, MessageType.NAMED_CALL);
        listeners.notify(view.name(name, 0, name.length)
                .parent(5)
                .size(7, 2)
                .error(ErrorCode.TIMED_OUT)
                .trace(1, 2, 3, 4, true));
        listeners.notify(listeners.own().open(Kind.APPENDED, 2, 3, MessageType.SCRIPT_CALL));
        assertThat(shown)
                .containsExactly(
                        "text.count of 5, 7 bytes, 2 tensors, error TIMED_OUT, span 3",
                        "SCRIPT_CALL of " + MessageId.NONE + ", 0 bytes, 0 tensors, error null, span 0");
    }

    @Test
    void dropsEventsForAnotherThreadWhenTooManyWait() {
        addHanging();
        listeners.notifyElsewhere(listeners.own().open(Kind.BEGUN, 1, 3, MessageType.NAMED_CALL));
        Waits.until("it is inside", () -> inside.get() == 1);
        for (long id = 2; id < 5000; id++) {
            listeners.notifyElsewhere(listeners.own().open(Kind.BEGUN, id, 3, MessageType.NAMED_CALL));
        }
        hold.countDown();
        Waits.until("those that waited are delivered", () -> seen.size() >= 1025);
        listeners.notifyElsewhere(listeners.own().open(Kind.BEGUN, 5000, 3, MessageType.NAMED_CALL));
        Waits.until("a later one is delivered", () -> seen.contains(5000L));
        assertThat(seen)
                .as("the first event, the 1024 that may wait, and the last one")
                .hasSize(1026);
    }

    @Test
    void keepsEventsWhileAThreadDoesNotReturnAndDeliversThemInOrder() {
        addHanging();
        lookAfter(1);
        Thread thread = hangingThread();
        for (int i = 0; i < 6; i++) {
            lookAfter(20);
        }
        for (long id = 2; id < 100; id++) {
            notifyOf(id);
        }
        assertThat(seen)
                .as("events that reached a listener in which a thread hangs")
                .isEmpty();
        hold.countDown();
        Waits.until("the thread has returned", () -> !thread.isAlive());
        lookAfter(20);
        Waits.until("the kept events are delivered", () -> seen.size() == 99);
        assertThat(seen)
                .containsExactlyElementsOf(LongStream.range(1, 100).boxed().toList());
        Waits.until("events are delivered by their own threads again", () -> {
            int before = seen.size();
            notifyOf(100);
            lookAfter(20);
            return seen.size() > before;
        });
        assertThat(listeners.problem(PROVIDER)).isEmpty();
    }

    @Test
    void countsAndLogsWhatItHadNoRoomFor() {
        Logger log = (Logger) LoggerFactory.getLogger(ListenerEntry.class);
        ListAppender<ILoggingEvent> written = new ListAppender<>();
        written.start();
        log.addAppender(written);
        try {
            addHanging();
            lookAfter(1);
            Thread thread = hangingThread();
            for (int i = 0; i < 6; i++) {
                lookAfter(20);
            }
            for (long id = 2; id < 2 + ListenerEntry.MAX_HELD + 7; id++) {
                notifyOf(id);
            }
            hold.countDown();
            Waits.until("the thread has returned", () -> !thread.isAlive());
            lookAfter(20);
            Waits.until("it is logged", () -> !written.list.isEmpty());
        } finally {
            log.detachAppender(written);
        }
        assertThat(seen).hasSize(1 + ListenerEntry.MAX_HELD);
        assertThat(written.list)
                .singleElement()
                .satisfies(line -> assertThat(line.getFormattedMessage())
                        .contains("of " + PROVIDER + " did not return for a while, and missed 7 events"));
    }

    @Test
    void dropsAListenerThatDoesNotReturnForASecond() {
        addHanging();
        lookAfter(1);
        hangingThread();
        for (int i = 0; i < 48; i++) {
            lookAfter(20);
        }
        assertThat(listeners.problem(PROVIDER)).isEmpty();
        for (int i = 0; i < 4; i++) {
            lookAfter(20);
        }
        assertThat(listeners.problem(PROVIDER))
                .hasValueSatisfying(why -> assertThat(why).contains("it has not returned for 1 s, on hanging"));
        notifyOf(2);
        assertThat(seen).isEmpty();
    }

    @Test
    void doesNotCountTheTimeInWhichTheProcessWasStopped() {
        addHanging();
        lookAfter(1);
        Thread thread = hangingThread();
        lookAfter(20);
        lookAfter(30_000); // stopped, and continued: no thread could return
        notifyOf(2);
        assertThat(seen).as("events that reach the listener").containsExactly(2L);
        assertThat(listeners.problem(PROVIDER)).isEmpty();
        hold.countDown();
        Waits.until("the thread has returned", () -> !thread.isAlive());
        lookAfter(20);
        assertThat(listeners.problem(PROVIDER)).isEmpty();
    }
}
