package io.waybill.worker.serve;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.RRef;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.ResponseListener;
import io.waybill.api.Value;
import io.waybill.api.handler.LateResponse;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.handler.RequestArrival;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.journal.JournalQueue;
import io.waybill.journal.read.QueueReader;
import io.waybill.journal.read.QueueReader.Step;
import io.waybill.testing.core.Waits;
import io.waybill.wire.MalformedRecordException;
import io.waybill.wire.Observation;
import io.waybill.wire.Observation.Kind;
import io.waybill.wire.Observations;
import io.waybill.wire.RecordView;
import io.waybill.worker.Worker;
import io.waybill.worker.Workers;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.random.RandomGenerator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What handlers take of the time and of chance is on record in their responses, and no caller sees it. */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
class ObservedTest {

    private static final String OPERATION = "test.observe";

    @TempDir
    Path directory;

    private Workers workers;
    private HandlerRegistry registry;
    private Worker callee;
    private Worker caller;
    private final AtomicReference<InstantSource> kept = new AtomicReference<>();
    private final AtomicReference<LateResponse> late = new AtomicReference<>();

    @BeforeEach
    void open() throws IOException {
        workers = new Workers(directory);
        registry = workers.registry();
    }

    @AfterEach
    void close() throws IOException {
        workers.close();
    }

    private void join(MessageHandler handler) throws IOException {
        workers.handle(registry, OPERATION, handler);
        callee = workers.join("callee", registry);
        caller = workers.join("caller");
    }

    private Response call() {
        return caller.call(Request.operation("callee", OPERATION));
    }

    /** A record of a response, as one who reads the journal sees it. */
    private record Found(Observations observed, byte[] payload) {}

    private List<Found> responses() throws IOException {
        List<Found> found = new ArrayList<>();
        Path responses = JournalQueue.RESPONSES.in(callee.directory().path());
        try (QueueReader reader = QueueReader.open(responses, workers.host.files(), Workers.SETTINGS.journal())) {
            while (reader.next() == Step.RECORD) {
                RecordView record = reader.record();
                found.add(new Found(record.observations(), record.copyPayload()));
            }
        } catch (MalformedRecordException e) {
            throw new IOException(e);
        }
        return found;
    }

    private Observations observed() throws IOException {
        assertThat(responses()).hasSize(1);
        return responses().get(0).observed();
    }

    private static Observation time(Value ns) {
        return new Observation(Kind.TIME, ((Value.Int) ns).value());
    }

    private static long ns(Instant instant) {
        return instant.getEpochSecond() * 1_000_000_000 + instant.getNano();
    }

    /** Responds with the time, a random number, and the time. */
    private static final MessageHandler LOOKS = (message, outbox) -> {
        long first = ns(outbox.clock().instant());
        long drawn = outbox.random().nextLong();
        outbox.random().nextLong();
        outbox.respond(Value.tuple(
                Value.of(first), Value.of(drawn), Value.of(ns(outbox.clock().instant()))));
    };

    private void assertLooked(Value response, Observations observed) {
        List<Value> notified = ((Value.Tuple) response).values();
        assertThat(observed.isCut()).isFalse();
        assertThat(observed.seen()).hasSize(3).contains(time(notified.get(0)), time(notified.get(2)));
        Observation seed = observed.seen().get(1);
        assertThat(seed.kind()).isEqualTo(Kind.SEED);
        assertThat(new Random(seed.value()).nextLong()).isEqualTo(((Value.Int) notified.get(1)).value());
    }

    @Test
    void isInTheResponsesRecordAndNotInItsPayload() throws IOException {
        join(LOOKS);
        try (Response response = call()) {
            assertLooked(response.value(), observed());
            byte[] payload = new byte[response.payload().remaining()];
            response.payload().get(payload);
            assertThat(responses().get(0).payload()).isEqualTo(payload);
        }
    }

    @Test
    void isThereWhenThePollerRanTheHandler() throws IOException {
        workers.handleOnPoller(registry, OPERATION, LOOKS);
        callee = workers.join("callee", registry);
        caller = workers.join("caller");
        for (int i = 0; i < 3; i++) {
            try (Response response = call()) {
                assertLooked(response.value(), responses().get(i).observed());
            }
        }
    }

    @Test
    void isNotThereWhenNothingWasRead() throws IOException {
        join((message, outbox) -> {
            outbox.clock();
            outbox.respond(Value.of(1));
        });
        call().close();
        assertThat(observed()).isEqualTo(Observations.NONE);
    }

    @Test
    void belongsToOneRequestOnly() throws IOException {
        join((message, outbox) -> {
            if (message.text("look").equals("yes")) {
                outbox.clock().millis();
            }
            outbox.respond(Value.of(1));
        });
        for (String look : List.of("yes", "no", "yes", "no")) {
            Request request = Request.operation("callee", OPERATION);
            request.body().text("look", look);
            caller.call(request).close();
        }
        assertThat(responses())
                .extracting(response -> response.observed().seen().size())
                .containsExactly(1, 0, 1, 0);
    }

    @Test
    void hasTheArrivalOnceHoweverOftenItIsAskedFor() throws IOException {
        AtomicReference<RequestArrival> saw = new AtomicReference<>();
        join((message, outbox) -> {
            saw.set(outbox.arrival());
            outbox.clock().millis();
            assertThat(outbox.arrival()).isSameAs(saw.get());
            outbox.respond(Value.of(1));
        });
        call().close();
        RequestArrival arrival = saw.get();
        assertThat(observed().seen())
                .filteredOn(each -> each.kind() == Kind.ARRIVAL)
                .extracting(Observation::value)
                .containsExactly(
                        arrival.readNs(),
                        arrival.unparkedNs(),
                        arrival.confirmedNs(),
                        arrival.begunNs(),
                        arrival.convertedNs());
        assertThat(observed().seen()).hasSize(6);
    }

    @Test
    void isInTheRecordOfAnException() throws IOException {
        AtomicReference<Long> saw = new AtomicReference<>();
        join((message, outbox) -> {
            saw.set(ns(outbox.clock().instant()));
            throw new RejectedMessageException(ErrorCode.REFUSED, "not now");
        });
        assertThatExceptionOfType(CallException.class).isThrownBy(this::call).withMessage("not now");
        assertThat(observed().seen()).containsExactly(new Observation(Kind.TIME, saw.get()));
    }

    @Test
    void reachesUntilADeferredResponseIsSent() throws Exception {
        AtomicReference<RandomGenerator> random = new AtomicReference<>();
        CountDownLatch returned = new CountDownLatch(1);
        join((message, outbox) -> {
            kept.set(outbox.clock());
            random.set(outbox.random());
            late.set(outbox.later());
            returned.countDown();
        });
        var pending = caller.callAsync(Request.operation("callee", OPERATION));
        returned.await();
        Thread other = new Thread(() -> kept.get().instant(), "observer");
        other.start();
        other.join();
        Instant last = kept.get().instant();
        long drawn = random.get().nextLong();
        late.get().send(Value.tuple(Value.of(ns(last)), Value.of(drawn)));
        try (Response response = pending.join()) {
            List<Value> notified = ((Value.Tuple) response.value()).values();
            Observations observed = observed();
            assertThat(observed.seen()).extracting(Observation::kind).containsExactly(Kind.SEED, Kind.TIME, Kind.TIME);
            assertThat(observed.seen().get(2)).isEqualTo(time(notified.get(0)));
            assertThat(new Random(observed.seen().get(0).value()).nextLong()).isEqualTo(drawn);
        }
        assertThatIllegalStateException()
                .isThrownBy(() -> kept.get().instant())
                .withMessageContaining("has its response");
    }

    @Test
    void isInTheRecordOfALateError() throws IOException {
        join((message, outbox) -> {
            outbox.clock().millis();
            outbox.later().fail(ErrorCode.REFUSED, "too late");
        });
        assertThatExceptionOfType(CallException.class).isThrownBy(this::call).withMessage("too late");
        assertThat(observed().seen()).hasSize(1);
    }

    @Test
    void isBoundedAndSaysSo() throws IOException {
        join((message, outbox) -> {
            for (int i = 0; i < Observations.MAX + 10; i++) {
                outbox.clock().millis();
            }
            outbox.respond(Value.of("done"));
        });
        try (Response response = call()) {
            assertThat(response.value()).isEqualTo(Value.of("done"));
        }
        assertThat(observed().seen()).hasSize(Observations.MAX);
        assertThat(observed().isCut()).isTrue();
    }

    @Test
    void isLeftOutWhereItHasNoRoom() throws IOException {
        int max = Workers.SETTINGS.journal().maxRecordBytes() / 2;
        join((message, outbox) -> {
            outbox.clock().millis();
            outbox.respond(ByteBuffer.allocate(max));
        });
        try (Response response = call()) {
            assertThat(response.payload().remaining()).isEqualTo(max);
        }
        assertThat(observed()).isEqualTo(Observations.LEFT_OUT);
    }

    @Test
    void standsInFrontOfReferences() throws IOException {
        join((message, outbox) -> {
            try (RRef own = callee.rpc().rref(Value.of(17))) {
                outbox.clock().millis();
                outbox.respond(Value.of(own));
            }
        });
        Worker serving = workers.join("serving", workers.registry());
        try (Response response = serving.call(Request.operation("callee", OPERATION));
                RRef given = ((Value.OfRRef) response.value()).value();
                Response fetched = given.toHere()) {
            assertThat(fetched.value()).isEqualTo(Value.of(17));
        }
        assertThat(responses().get(0).observed().seen()).hasSize(1);
    }

    @Test
    void staysHiddenFromWhoClaimsOrRepeats() throws Exception {
        join((message, outbox) -> {
            outbox.clock().millis();
            late.set(outbox.later());
        });
        long id = caller.call(Request.operation("callee", OPERATION), new Unheard());
        Waits.until("begun", () -> late.get() != null);
        caller.close();
        late.get().send(Value.of("hello"));
        Worker again = workers.join("caller");
        try (Response claimed = again.claim(id, Duration.ofSeconds(20));
                Response repeated = again.repeat(id, Duration.ofSeconds(20))) {
            assertThat(claimed.value()).isEqualTo(Value.of("hello"));
            assertThat(repeated.value()).isEqualTo(Value.of("hello"));
        }
        assertThat(observed().seen()).hasSize(1);
    }

    /** Of an incarnation that ends before the response comes. */
    private static final class Unheard implements ResponseListener {
        @Override
        public void onResponse(Response response) {
            // nobody waits
        }

        @Override
        public void onFailure(CallException failure) {
            // the incarnation that asked is over
        }
    }
}
