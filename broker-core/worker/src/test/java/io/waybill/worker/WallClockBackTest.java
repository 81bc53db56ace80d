package io.waybill.worker;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.CallException;
import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.host.ForwardingClock;
import io.waybill.host.Host;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A worker that joins again after the wall clock was set back calls and is called. */
@Timeout(300)
class WallClockBackTest {

    private static final long NS_PER_DAY = Duration.ofDays(1).toNanos();

    @TempDir
    private Path directory;

    private final Host real = Host.real();
    private volatile long backNs;
    private Workers workers;

    @BeforeEach
    void open() throws IOException {
        workers = new Workers(directory, real.withClock(new ForwardingClock(real.clock()) {
            @Override
            public long wallNs() {
                return super.wallNs() - backNs;
            }

            @Override
            public long wallNsAt(long bootNs) {
                return super.wallNsAt(bootNs) - backNs;
            }
        }));
    }

    @AfterEach
    void close() throws IOException {
        workers.close();
    }

    private Worker join(String name) throws IOException {
        HandlerRegistry handlers = workers.registry();
        workers.handle(handlers, "0x142", (message, outbox) -> outbox.respond(message.payload()));
        return workers.join(
                name,
                handlers,
                Workers.SETTINGS.toBuilder()
                        .defaultTimeout(Duration.ofSeconds(10))
                        .build());
    }

    private static void call(Worker from, String to, String when) {
        Request request = Request.raw(to, MessageType.userRequest(0x42), ByteBuffer.allocate(100), List.of());
        try (Response response = from.call(request)) {
            assertThat(response.payload().remaining()).as(when).isEqualTo(100);
        } catch (CallException e) {
            throw new AssertionError("no response " + when + ": " + e.getMessage(), e);
        }
    }

    /** Its queues have files, and no record in them. */
    @ParameterizedTest(name = "{0} hours")
    @CsvSource({"0", "2", "9600", "17520", "43824", "175320", "480000"})
    void servesAndIsServedWithoutRecordsFromBefore(long hours) throws Exception {
        Worker stays = join("stays");
        join("returns").close();
        backNs = Duration.ofHours(hours).toNanos();
        for (int incarnation = 2; incarnation < 4; incarnation++) {
            Worker next = join("returns");
            for (int i = 0; i < 3; i++) {
                call(stays, "returns", "to incarnation " + incarnation + ", call " + i);
                call(next, "stays", "by incarnation " + incarnation + ", call " + i);
            }
            next.close();
        }
    }

    /** Its newest file has no record, the one before has some. */
    @ParameterizedTest(name = "{0} hours")
    @CsvSource({"3", "43824"})
    void servesAndIsServedWithRecordsInAnOlderFileAlone(long hours) throws Exception {
        Worker stays = join("stays");
        Worker first = join("returns");
        call(stays, "returns", "to the first incarnation");
        call(first, "stays", "by the first incarnation");
        first.close();
        backNs = -Duration.ofHours(2).toNanos();
        join("returns").close();
        backNs = Duration.ofHours(hours).toNanos();
        Worker third = join("returns");
        for (int i = 0; i < 3; i++) {
            call(stays, "returns", "to the third incarnation, call " + i);
            call(third, "stays", "by the third incarnation, call " + i);
        }
    }

    @ParameterizedTest(name = "{0} days")
    @CsvSource({"0", "1", "400", "730", "1826", "7305", "20000"})
    void servesAndIsServed(long days) throws Exception {
        Worker stays = join("stays");
        Worker first = join("returns");
        call(first, "stays", "by the first incarnation");
        call(stays, "returns", "to the first incarnation");
        first.close();

        backNs = days * NS_PER_DAY;
        Worker second = join("returns");
        for (int i = 0; i < 3; i++) {
            call(second, "stays", "by the incarnation after the clock was set back, call " + i);
            call(stays, "returns", "to the incarnation after the clock was set back, call " + i);
        }
        Worker late = join("late"); // begins its queues in the past
        call(late, "returns", "by a worker that is new");
        call(second, "late", "to a worker that is new");

        backNs = 0; // it is set right
        second.close();
        late.close();
        Worker third = join("returns");
        Worker again = join("late");
        call(third, "stays", "by the incarnation after the clock was set right");
        call(stays, "returns", "to the incarnation after the clock was set right");
        call(again, "returns", "by the one that began in the past");
        call(third, "late", "to the one that began in the past");
    }
}
