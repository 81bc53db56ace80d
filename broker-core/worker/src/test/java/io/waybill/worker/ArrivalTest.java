package io.waybill.worker;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.Invocation;
import io.waybill.api.RRef;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.handler.RequestArrival;
import io.waybill.api.tensor.Device;
import io.waybill.api.tensor.Tensor;
import io.waybill.device.DeviceSettings;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.testing.core.Waits;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What a handler learns of the stages that its request passed before it. */
@Timeout(180)
class ArrivalTest {

    @TempDir
    private Path directory;

    private final BlockingQueue<RequestArrival> arrivals = new LinkedBlockingQueue<>();
    private final MappedToy toy = new MappedToy();
    private final MessageHandler noting = (message, outbox) -> {
        arrivals.add(outbox.arrival());
        outbox.respond(Value.of(1));
    };
    private Workers workers;
    private HandlerRegistry serving;
    private Worker caller;
    private Worker callee;

    @BeforeEach
    void join() throws IOException {
        workers = new Workers(directory);
        serving = workers.registry();
        workers.handle(serving, "text.noted", noting);
        workers.handleOnPoller(serving, "text.quick", noting);
        workers.handle(serving, "SCRIPT_CALL", noting);
        callee = workers.join("callee", serving, withDevices("toy:0", "none"));
        caller = workers.join("caller", workers.registry(), withDevices("none", "callee toy:0=toy:0"));
        for (Worker worker : List.of(callee, caller)) {
            worker.devices().register("toy", toy);
        }
    }

    private static WorkerSettings withDevices(String devices, String maps) {
        return Workers.SETTINGS.toBuilder()
                .devices(new DeviceSettings(DeviceSettings.parseDevices(devices), DeviceSettings.parseMaps(maps)))
                .build();
    }

    @AfterEach
    void leave() throws IOException {
        workers.close();
    }

    private RequestArrival taken() throws InterruptedException {
        RequestArrival arrival = arrivals.poll(120, TimeUnit.SECONDS);
        assertThat(arrival).isNotNull();
        return arrival;
    }

    private void call(Request request) {
        caller.call(request.timeout(Duration.ofMinutes(2))).close();
    }

    private long nowNs() {
        Instant now = callee.broker().clock().instant();
        return now.getEpochSecond() * 1_000_000_000 + now.getNano();
    }

    @Test
    void hasNoStageThatWasNotNeeded() throws Exception {
        long beforeNs = nowNs();
        call(Request.operation("callee", "text.quick"));
        RequestArrival quick = taken();
        assertThat(quick.sentNs()).isBetween(beforeNs, quick.readNs());
        assertThat(List.of(quick.unparkedNs(), quick.confirmedNs(), quick.begunNs(), quick.convertedNs()))
                .containsOnly(quick.readNs());
        assertThat(quick.readNs()).isLessThanOrEqualTo(nowNs());
    }

    @Test
    void hasTheTimeUntilAThreadTookIt() throws Exception {
        CountDownLatch mayGoOn = new CountDownLatch(1);
        workers.handleOneByOne(serving, "text.one", (message, outbox) -> {
            arrivals.add(outbox.arrival());
            try {
                mayGoOn.await();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
            outbox.respond(Value.of(1));
        });
        List<CompletableFuture<Response>> calls = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            calls.add(caller.callAsync(Request.operation("callee", "text.one").timeout(Duration.ofMinutes(2))));
        }
        Waits.until(
                "all are read",
                () -> callee.counters().requestsBegun() == 3
                        || callee.counters().requestsParked() > 0);
        long waitingNs = nowNs();
        mayGoOn.countDown();
        for (CompletableFuture<Response> each : calls) {
            each.join().close();
        }
        taken();
        RequestArrival second = taken();
        assertThat(second.readNs()).isLessThanOrEqualTo(waitingNs);
        assertThat(second.begunNs()).isGreaterThanOrEqualTo(waitingNs);
    }

    @Test
    void hasTheTimeInParking() throws Exception {
        HandlerRegistry.Registration late = workers.handle(serving, "text.late", noting);
        late.withdraw(Duration.ofSeconds(1));
        CompletableFuture<Response> response = caller.callAsync(Request.operation("callee", "text.late"));
        Waits.until("it is parked", () -> serving.parkedRequests() == 1);
        long parkedNs = nowNs();
        workers.handle(serving, "text.late", noting);
        response.join().close();
        RequestArrival arrival = taken();
        assertThat(arrival.readNs()).isLessThanOrEqualTo(parkedNs);
        assertThat(arrival.unparkedNs()).isGreaterThanOrEqualTo(parkedNs);
        assertThat(arrival.confirmedNs()).as("without references").isEqualTo(arrival.unparkedNs());
    }

    @Test
    void hasTheTimeUntilOwnersKnewOfReferences() throws Exception {
        Worker owner = workers.join("owner", serving);
        try (RRef reference = caller.rpc().remote("owner", new Invocation("test::one", List.of(), Map.of()))) {
            taken(); // of the creation
            caller.rpc()
                    .rpcSync("callee", new Invocation("test::use", List.of(Value.of(reference)), Map.of()))
                    .close();
        }
        RequestArrival arrival = taken();
        assertThat(arrival.confirmedNs()).isGreaterThan(arrival.unparkedNs());
        assertThat(owner.counters().requestsBegun()).isPositive();
    }

    @Test
    void hasTheTimeOfTheConversion() throws Exception {
        Tensor tensor = toy.tensor(Device.parse("toy:0"), 10, 3);
        Request request = Request.operation("callee", "text.noted");
        request.body().tensor("t", tensor);
        call(request);
        tensor.storage().release();
        RequestArrival arrival = taken();
        assertThat(arrival.convertedNs()).isGreaterThan(arrival.begunNs());
    }
}
