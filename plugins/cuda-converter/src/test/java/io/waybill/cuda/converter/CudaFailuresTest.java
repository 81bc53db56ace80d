package io.waybill.cuda.converter;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.Response;
import io.waybill.api.tensor.Device;
import io.waybill.api.tensor.Tensor;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Failures of the driver: each gives the call a typed error, and leaves nothing behind, which the end of the workers checks. */
@Timeout(600)
class CudaFailuresTest {

    private static final int MAX_STEPS = 200;

    @TempDir
    private Path directory;

    /** Calls with a large and a small tensor on a device; returns the error's code, or null when the call went well. */
    private static ErrorCode call(CudaWorkers workers, List<Tensor> sent) {
        try (Response response = workers.callAsync(sent).join()) {
            CudaWorkers.requireMarked(response.tensors().get(0), 1);
            CudaWorkers.requireMarked(response.tensors().get(1), 2);
            return null;
        } catch (CompletionException e) {
            assertThat(e.getCause()).isInstanceOf(CallException.class);
            return ((CallException) e.getCause()).code();
        } catch (CallException e) {
            return e.code();
        } catch (DeviceCode.DeviceCodeException e) { // the program's own copy was the one that failed
            return ErrorCode.DEVICE_LOST;
        }
    }

    private static List<Tensor> tensors(CudaWorkers workers, Device on) throws Exception {
        return List.of(workers.tensor(on, CudaWorkers.LARGE, 1), workers.tensor(on, 100, 2));
    }

    /** Fails the first step of its kind in a call, then the second one, until a call has no further one. */
    @ParameterizedTest
    @CsvSource({
        "fail_allocation_at, DEVICE_FULL",
        "fail_stream_at, DEVICE_FULL",
        "fail_event_at, DEVICE_FULL",
        "fail_enqueue_at, DEVICE_LOST"
    })
    void givesATypedErrorForEachStepThatFails(String slot, ErrorCode expected) throws Exception {
        int failed = 0;
        for (int step = 1; step < MAX_STEPS; step++) {
            try (CudaWorkers workers = CudaWorkers.join(directory.resolve(slot + step))) {
                List<Tensor> sent = tensors(workers, CudaWorkers.ZERO);
                workers.driver.set(slot, step);
                ErrorCode found = call(workers, sent);
                boolean hasFailed = workers.driver.get(slot) == 0;
                workers.driver.set(slot, 0);
                if (found != null) {
                    assertThat(found).isEqualTo(expected);
                    failed++;
                }
                assertThat(call(workers, tensors(workers, CudaWorkers.ZERO)))
                        .as("after step " + step)
                        .isNull();
                if (!hasFailed) {
                    assertThat(failed).as("calls that failed").isGreaterThan(1);
                    return;
                }
            }
        }
        throw new AssertionError("a call has more than " + MAX_STEPS + " steps");
    }

    @Test
    void copiesWithoutPinnedMemoryWhenTheDriverRefusesIt() throws Exception {
        try (CudaWorkers workers = CudaWorkers.join(directory)) {
            workers.driver.set("fail_register_at", 1);
            for (int round = 0; round < 3; round++) {
                assertThat(call(workers, tensors(workers, CudaWorkers.ZERO))).isNull();
            }
        }
    }

    @Test
    void failsCallsOfADeviceThatIsLost() throws Exception {
        try (CudaWorkers workers = CudaWorkers.join(directory)) {
            List<Tensor> sent = tensors(workers, CudaWorkers.ZERO);
            List<Tensor> second = tensors(workers, CudaWorkers.ZERO);
            workers.driver.set("lost_devices", 1);
            assertThat(call(workers, sent)).isEqualTo(ErrorCode.DEVICE_LOST);
            assertThat(call(workers, second)).isEqualTo(ErrorCode.DEVICE_LOST);
            try (Response response = workers.callAsync(List.of(workers.tensor(Device.CPU, 100, 1)))
                    .join()) {
                assertThat(response.tensors().get(0).device()).isEqualTo(Device.CPU);
            }
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4, 5, 6, 7, 8})
    void failsACallWhoseCopyFailsWhileItRuns(int copy) throws Exception {
        try (CudaWorkers workers = CudaWorkers.join(directory)) {
            List<Tensor> sent = tensors(workers, CudaWorkers.ZERO);
            sent.forEach(tensor -> DeviceCode.read(tensor.storage())); // they have arrived
            workers.driver.set("fail_copy_at", copy);
            assertThat(call(workers, sent)).isEqualTo(ErrorCode.DEVICE_LOST);
            workers.requireLeasesReturned();
        }
    }

    @Test
    void aSlowCopyCostsItsCallItsDeadlineAndOthersNothing() throws Exception {
        try (CudaWorkers workers = CudaWorkers.join(directory)) {
            List<Tensor> sent = tensors(workers, CudaWorkers.ZERO);
            sent.forEach(tensor -> DeviceCode.read(tensor.storage())); // they have arrived
            workers.driver.set("slow_copy_us", 2_000_000);
            CompletableFuture<Response> slow = CompletableFuture.supplyAsync(
                            () -> workers.callAsync("cuda.mark", sent, Duration.ofMillis(300)))
                    .thenCompose(call -> call);
            while (!slow.isDone()) { // the pollers of both workers go on
                try (Response response = workers.callAsync(List.of(workers.tensor(Device.CPU, 100, 1)))
                        .join()) {
                    assertThat(response.tensors().get(0).device()).isEqualTo(Device.CPU);
                }
            }
            assertThat(catchThrowableOfType(CompletionException.class, slow::join))
                    .hasCauseInstanceOf(CallException.class)
                    .extracting(e -> ((CallException) e.getCause()).code())
                    .isEqualTo(ErrorCode.TIMED_OUT);
            workers.driver.set("slow_copy_us", 0);
            assertThat(call(workers, tensors(workers, CudaWorkers.ZERO))).isNull();
            workers.requireLeasesReturned();
        }
    }

    @Test
    void refusesWhatTheLimitHasNoRoomFor() throws Exception {
        try (CudaWorkers workers = CudaWorkers.join(directory)) {
            CudaConverter small = new CudaConverter(1, 64);
            workers.converters.add(small);
            var host = workers.caller.buffers().allocate(600_000);
            var first = small.allocateForReceiving(host, CudaWorkers.ZERO, small.streams(CudaWorkers.ZERO));
            var full = catchThrowableOfType(
                    io.waybill.api.RejectedMessageException.class,
                    () -> small.allocateForReceiving(host, CudaWorkers.ZERO, List.of()));
            assertThat(full.code()).isEqualTo(ErrorCode.DEVICE_FULL);
            assertThat(full).hasMessageContainingAll("memory.limit.mb", "of 1048576 bytes in use");
            first.release();
            var larger = workers.caller.buffers().allocate(900_000); // what is cached makes room
            small.allocateForReceiving(larger, CudaWorkers.ZERO, List.of()).release();
            host.release();
            larger.release();
        }
    }

    @Test
    void refusesADeviceThatIsNotThere() throws Exception {
        try (CudaWorkers workers = CudaWorkers.join(directory)) {
            var refused = catchThrowableOfType(
                    io.waybill.api.RejectedMessageException.class,
                    () -> workers.ofProgram.streams(Device.parse("cuda:2")));
            assertThat(refused.code()).isEqualTo(ErrorCode.DEVICE_UNAVAILABLE);
            assertThat(refused).hasMessageContaining("expected a device from cuda:0 to cuda:1, found cuda:2");
        }
    }
}
