package io.waybill.worker.poll;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.waybill.host.CutFile;
import io.waybill.host.Host;
import io.waybill.host.Threads;
import io.waybill.testing.core.Waits;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.slf4j.LoggerFactory;

/** Faults on mapped memory that come to light in code that has nothing to do with them. */
@Timeout(180)
class FaultAlarmTest {

    private static final String FAULT = "a fault occurred in an unsafe memory access operation"; // HotSpot's text

    @TempDir
    private Path directory;

    private final Logger log = (Logger) LoggerFactory.getLogger(FaultAlarm.class);
    private final ListAppender<ILoggingEvent> written = new ListAppender<>();
    private final FaultAlarm alarm = new FaultAlarm(Host.real().threads());

    @BeforeEach
    void read() {
        written.start();
        log.addAppender(written);
    }

    @AfterEach
    void readNoMore() {
        log.detachAppender(written);
    }

    private List<String> errors() {
        return written.list.stream()
                .filter(event -> event.getLevel().isGreaterOrEqual(Level.WARN))
                .map(event -> event.getThrowableProxy().getMessage())
                .toList();
    }

    @Test
    void isRaisedByAFaultThatThisThreadMet() throws IOException {
        CutFile cut = new CutFile(directory.resolve("cut"));
        alarm.surface();
        assertThat(alarm.isRaised()).as("raised before the fault").isFalse();
        try {
            cut.read();
            alarm.surface();
        } catch (InternalError e) { // where the virtual machine throws it in the read
            alarm.report(e);
        }
        assertThat(alarm.isRaised()).as("raised by the fault").isTrue();
        alarm.lower();
        alarm.surface();
        assertThat(alarm.isRaised()).as("raised by the same fault again").isFalse();
        assertThat(errors()).as("errors in the log").isEmpty();
    }

    @Test
    void isRaisedByWhatOtherCodeMadeOfAFault() {
        alarm.report(new IllegalStateException("can't map", new IOException(new InternalError(FAULT))));
        assertThat(alarm.isRaised()).as("raised by the exception").isTrue();
        assertThat(errors()).as("errors in the log").isEmpty();
    }

    @Test
    void writesOtherErrorsToTheLogAndIsNotRaisedByThem() {
        alarm.report(new IllegalStateException("planted"));
        alarm.report(new InternalError("broken"));
        assertThat(alarm.isRaised()).as("raised by errors that are no faults").isFalse();
        assertThat(errors()).as("errors in the log").containsExactly("planted", "broken");
    }

    @Test
    void isSeenByThePermitsHolderWhenAnotherThreadRaisesIt() {
        Host.real().threads().start("raises", alarm::raise);
        Waits.until("the alarm is raised", alarm::isRaised);
        alarm.lower();
        assertThat(alarm.isRaised()).as("raised after it was lowered").isFalse();
    }

    /** On JDK 17 an earlier fault of the calling thread may surface in the unpark, and leave it undone. */
    @Test
    void unparksAThreadWhoseFirstUnparkMetAFault() {
        AtomicInteger unparks = new AtomicInteger();
        FaultAlarm faulty = new FaultAlarm(new Threads() {
            @Override
            public Thread start(String name, Runnable body) {
                return Host.real().threads().start(name, body);
            }

            @Override
            public void unpark(Thread thread) {
                if (unparks.incrementAndGet() == 1) {
                    throw new InternalError(FAULT);
                }
                Threads.super.unpark(thread);
            }
        });
        Thread waits = Host.real().threads().start("waits", () -> {
            do { // a park may return early
                LockSupport.park(faulty);
            } while (unparks.get() == 0);
        });
        Waits.until("the thread is parked", () -> waits.getState() == Thread.State.WAITING);
        faulty.unpark(waits);
        Waits.until("the thread that was unparked has gone on", () -> !waits.isAlive());
        assertThat(faulty.isRaised()).as("raised by the fault").isTrue();
        assertThat(unparks).as("unparks").hasValue(2);
    }
}
