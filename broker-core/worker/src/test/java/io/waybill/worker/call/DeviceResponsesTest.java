package io.waybill.worker.call;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Response;
import io.waybill.api.ResponseListener;
import io.waybill.api.Value;
import io.waybill.api.device.DeviceConverter;
import io.waybill.api.device.DeviceStream;
import io.waybill.api.tensor.Device;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.TensorBuffers;
import io.waybill.device.DeviceMemory;
import io.waybill.testing.core.Waits;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Responses with tensors for a device whose converter is slow, fails, or does not return before the worker closes. */
@Timeout(120)
class DeviceResponsesTest {

    private static final Device TOY = Device.parse("toy:0");
    private static final int MAX_CONVERSIONS = 256; // with the one that runs
    private static final int BYTES = 16;

    @TempDir
    private Path directory;

    private final AtomicInteger live = new AtomicInteger(); // storages on the device
    private final List<String> outcomes = new CopyOnWriteArrayList<>();
    private final CountDownLatch converts = new CountDownLatch(1);
    private final CountDownLatch hold = new CountDownLatch(1);
    private volatile Converting converting = arrived -> {};
    private CallingRoom room;

    /** What the converter does before it makes the storage of a response. */
    @FunctionalInterface
    private interface Converting {
        void before(Storage arrived) throws RejectedMessageException;
    }

    private final class Toy implements DeviceConverter {
        @Override
        public Optional<String> unavailable() {
            return Optional.empty();
        }

        @Override
        public Optional<Storage> prepareForSending(Storage storage, List<DeviceStream> streams, TensorBuffers buffers) {
            return Optional.of(buffers.allocate(((DeviceMemory) storage).content().length));
        }

        @Override
        public Storage allocateForReceiving(Storage arrived, Device target, List<DeviceStream> streams)
                throws RejectedMessageException {
            converting.before(arrived);
            return new DeviceMemory(target, (int) arrived.sizeBytes(), live);
        }
    }

    @BeforeEach
    void open() throws Exception {
        room = new CallingRoom(directory);
        room.publishing.transit.devices().register("toy", new Toy());
        assertThat(room.permit.tryAcquire()).isTrue();
    }

    @AfterEach
    void close() throws IOException {
        hold.countDown();
        room.close();
        Waits.until("memory on the device is released", () -> live.get() == 0);
    }

    private void hold(Storage arrived) {
        converts.countDown();
        boolean interrupted = false;
        while (hold.getCount() > 0) {
            try {
                hold.await();
            } catch (InterruptedException e) { // the worker closes, and the converter does not mind
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private long send() {
        return room.calls.call(CallingRoom.request(), new ResponseListener() {
            @Override
            public void onResponse(Response response) {
                String on = response.tensors().isEmpty()
                        ? "nothing"
                        : response.tensors().get(0).device().toString();
                outcomes.add(CallingRoom.text(response.id()) + " " + on);
            }

            @Override
            public void onFailure(CallException failure) {
                outcomes.add(CallingRoom.text(failure.messageId()) + " " + failure.code());
            }
        });
    }

    private long sendAndRespond() throws Exception {
        long id = send();
        DeviceMemory memory = new DeviceMemory(TOY, BYTES, live);
        room.respond(id, memory.tensor());
        memory.release(); // the sender's
        room.poll();
        return id;
    }

    private static String outcome(long id, Object what) {
        return CallingRoom.text(id) + " " + what;
    }

    private void awaitConverted() {
        Waits.until("no response is converted any more", () -> room.parts.deviceResponses.converting() == 0);
    }

    @Test
    void aSlowConverterKeepsNoOtherCall() throws Exception {
        converting = this::hold;
        long slow = sendAndRespond();
        converts.await();
        long other = send();
        room.respond(other, Value.of("no tensor"));
        room.poll();
        assertThat(outcomes).as("outcomes while the converter runs").containsExactly(outcome(other, "nothing"));
        assertThat(room.parts.deviceResponses.converting())
                .as("responses that are converted")
                .isEqualTo(1);
        hold.countDown();
        awaitConverted();
        assertThat(outcomes).as("outcomes").containsExactly(outcome(other, "nothing"), outcome(slow, TOY));
        assertThat(room.parts.pending.size()).as("calls without an outcome").isZero();
    }

    @Test
    void aCallWhoseDeadlinePassesMeanwhileTimesOutAndItsTensorsAreReleased() throws Exception {
        converting = this::hold;
        long slow = sendAndRespond();
        converts.await();
        room.receiver.expire(room.publishing.host.clock().bootNs() + CallingRoom.TIMEOUT.toNanos());
        assertThat(outcomes).as("outcomes at the deadline").containsExactly(outcome(slow, ErrorCode.TIMED_OUT));
        hold.countDown();
        awaitConverted();
        assertThat(outcomes).as("outcomes").hasSize(1);
        assertThat(room.publishing.counters.lateResponses())
                .as("late responses")
                .isEqualTo(1);
    }

    @Test
    void aConverterThatFailsFailsItsOwnCall() throws Exception {
        converting = arrived -> {
            throw new RejectedMessageException(ErrorCode.DEVICE_LOST, "planted");
        };
        long rejected = sendAndRespond();
        awaitConverted();
        converting = arrived -> {
            throw new StackOverflowError("planted");
        };
        long broken = sendAndRespond();
        awaitConverted();
        converting = arrived -> {};
        long whole = sendAndRespond();
        awaitConverted();
        assertThat(outcomes).as("outcomes").hasSize(3).startsWith(outcome(rejected, ErrorCode.DEVICE_LOST));
        assertThat(outcomes.get(1))
                .as("the outcome after an error")
                .startsWith(CallingRoom.text(broken) + " ")
                .doesNotContain(TOY.toString());
        assertThat(outcomes.get(2)).as("the outcome of the next call").isEqualTo(outcome(whole, TOY));
    }

    @Test
    void moreThanMayWaitAreRefusedAndNoOutcomeIsLost() throws Exception {
        converting = this::hold;
        sendAndRespond();
        converts.await();
        for (int i = 1; i < MAX_CONVERSIONS; i++) {
            sendAndRespond();
        }
        assertThat(outcomes).as("outcomes while others wait for the converter").isEmpty();
        long refused = sendAndRespond();
        assertThat(outcomes).as("outcomes with one more").containsExactly(outcome(refused, ErrorCode.BACK_PRESSURE));
        hold.countDown();
        awaitConverted();
        assertThat(outcomes).as("outcomes").hasSize(MAX_CONVERSIONS + 1);
        assertThat(outcomes.stream().filter(each -> each.endsWith(" " + TOY)).distinct())
                .as("calls whose response was converted")
                .hasSize(MAX_CONVERSIONS);
    }

    @Test
    void theCloseFailsWhatWaitsAndWhatComesLater() throws Exception {
        converting = this::hold;
        long running = sendAndRespond();
        converts.await();
        long waiting = sendAndRespond();
        room.parts.deviceResponses.close();
        assertThat(outcomes).as("outcomes at the close").containsExactly(outcome(waiting, ErrorCode.CLOSED));
        long later = sendAndRespond();
        assertThat(outcomes).as("outcomes with one that comes later").hasSize(2);
        assertThat(outcomes.get(1)).startsWith(CallingRoom.text(later) + " ").doesNotContain(TOY.toString());
        hold.countDown();
        awaitConverted();
        assertThat(outcomes).as("outcomes").hasSize(3);
        assertThat(outcomes.get(2))
                .as("the outcome of the one that was running")
                .startsWith(CallingRoom.text(running));
        assertThat(room.parts.pending.size()).as("calls without an outcome").isZero();
    }
}
