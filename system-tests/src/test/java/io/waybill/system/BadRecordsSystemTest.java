package io.waybill.system;

import static io.waybill.system.RawWorker.flip;
import static io.waybill.system.RawWorker.lying;
import static io.waybill.system.RawWorker.setInt;
import static io.waybill.system.RawWorker.setShort;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.journal.read.JournalTail;
import io.waybill.journal.read.Poll;
import io.waybill.testing.core.Waits;
import io.waybill.wire.Envelope;
import io.waybill.wire.MessageBuffer;
import io.waybill.wire.RecordView;
import io.waybill.worker.Worker;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A live worker beside a peer whose queues hold records that nobody should have written. */
@Timeout(value = 240, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class BadRecordsSystemTest {

    @TempDir
    private Path directory;

    private Swarm swarm;
    private RawWorker bad;
    private Worker victim;
    private Worker good;

    @BeforeEach
    void join() throws Exception {
        swarm = new Swarm(directory.resolve("home"), directory.resolve("calls"));
        victim = swarm.join("victim");
        good = swarm.join("good");
        bad = new RawWorker(swarm.home(), "bad").publish().contact(victim.info().id());
        bad.write(next());
        Waits.until("the bad one known", () -> victim.counters().requestsBegun() == 1);
    }

    @AfterEach
    void leave() throws Exception {
        bad.close();
        swarm.close();
    }

    private static Request request(String to) {
        return Request.raw(to, MessageType.userRequest(0x42), ByteBuffer.allocate(64), List.of())
                .timeout(Duration.ofSeconds(20));
    }

    private MessageBuffer next() {
        return bad.request(victim.info().id());
    }

    @Test
    void countsDamagedRequestsAndServesThoseBetweenThem() throws Exception {
        List<Runnable> bads = List.of(
                () -> bad.writeBroken(next(), flip(RawWorker.payloadAt() + 5)),
                () -> bad.writeBroken(next(), flip(Envelope.ID)),
                () -> bad.writeBroken(next(), flip(Envelope.CHECKSUM)),
                () -> bad.writeBroken(next(), flip(Envelope.MAGIC_AT)),
                () -> bad.write(lying(next(), setInt(Envelope.PAYLOAD_LENGTH, 65))),
                () -> bad.write(lying(next(), setInt(Envelope.PAYLOAD_LENGTH, -1))),
                () -> bad.write(lying(next(), setInt(Envelope.SECTION_LENGTH, Integer.MAX_VALUE))),
                () -> bad.write(lying(next(), setShort(Envelope.TENSOR_COUNT, 0xffff))),
                () -> bad.write(lying(next(), setShort(Envelope.TENSOR_COUNT, 1))),
                () -> bad.write(lying(next(), memory -> memory.putByte(Envelope.RESERVED_BYTE, (byte) 1))),
                () -> bad.write(lying(next(), memory -> memory.putByte(Envelope.VERSION_AT, (byte) 2))),
                () -> bad.write(lying(next(), setShort(Envelope.TYPE, 0x13f))),
                () -> bad.write(lying(next(), setShort(Envelope.TYPE, 0xffff))),
                () -> bad.write(lying(next(), setShort(Envelope.TYPE, 0x242))),
                () -> bad.write(
                        lying(next(), setShort(Envelope.FROM, good.info().id()))),
                () -> bad.writeCut(next(), Envelope.HEADER_LENGTH),
                () -> bad.writeCut(next(), 50),
                () -> bad.writeCut(next(), 1),
                () -> bad.writeCut(next(), 1000));
        int served = 1;
        for (int i = 0; i < bads.size(); i++) {
            long damaged = i;
            bads.get(i).run();
            Waits.until("damaged record " + i, () -> victim.counters().damagedRecords() == damaged + 1);
            bad.write(next());
            served++;
            good.call(request("victim")).close();
            served++;
            long begun = served;
            Waits.until("served behind record " + i, () -> victim.counters().requestsBegun() == begun);
        }
        assertThat(victim.counters().damagedRecords()).isEqualTo(bads.size());
        assertThat(good.counters().damagedRecords())
                .as("of records that are too short to tell whom they are for")
                .isLessThanOrEqualTo(4);
    }

    @Test
    void refusesTypesWithoutAHandler() throws Exception {
        bad.write(lying(next(), setShort(Envelope.TYPE, 0x150)));
        Waits.until("refused", () -> victim.counters().failures(ErrorCode.UNKNOWN_TYPE) == 1);
        assertThat(victim.counters().damagedRecords()).isZero();
        assertThatThrownBy(() -> good.call(
                        Request.raw("victim", MessageType.userRequest(0x50), ByteBuffer.allocate(0), List.of())))
                .isInstanceOfSatisfying(
                        CallException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.UNKNOWN_TYPE));
    }

    @Test
    void refusesRequestsThatAreForAnotherIncarnation() throws Exception {
        List<Integer> others = List.of(0, 2, -1);
        for (int epoch : others) {
            bad.write(lying(next(), setInt(Envelope.EPOCH, epoch)));
        }
        bad.write(next());
        Waits.until("served behind them", () -> victim.counters().requestsBegun() == 2);
        assertThat(victim.counters().failures(ErrorCode.WORKER_LOST)).isEqualTo(others.size());
        assertThat(victim.counters().damagedRecords()).isZero();
    }

    @Test
    void respondsToARepeatedRequestWithTheFirstResponse() throws Exception {
        MessageBuffer request = next();
        bad.write(request);
        bad.write(lying(request, memory -> memory.putByte(Envelope.FLAGS, (byte) Envelope.REPEATED)));
        long begun = victim.counters().requestsBegun();
        bad.write(next());
        Waits.until("served behind it", () -> victim.counters().requestsBegun() > begun);
        long id = request.memory().getLong(Envelope.ID, ByteOrder.LITTLE_ENDIAN);
        Path responses = victim.directory().path().resolve("responses");
        Waits.until("responded to twice", () -> responsesTo(id, responses).size() == 2);
        assertThat(responsesTo(id, responses))
                .as("with the same bytes, by the same run")
                .containsOnly(2L);
        assertThat(victim.counters().requestsBegun()).isEqualTo(3);
        assertThat(victim.counters().damagedRecords()).isZero();
    }

    /** The number of the run that gave each response to a request. */
    private static List<Long> responsesTo(long id, Path responses) {
        List<Long> runs = new ArrayList<>();
        MessageBuffer buffer = new MessageBuffer();
        RecordView view = new RecordView(buffer);
        try (JournalTail tail = JournalTail.open(responses, WorkerMain.JOURNAL)) {
            while (tail.poll(buffer, JournalTail.ANY_RECEIVER) == Poll.RECORD) {
                if (view.id() == id) {
                    runs.add(view.handlerSequence());
                }
            }
        }
        return runs;
    }

    @Test
    void countsDamagedResponsesAndTakesTheGoodOne() throws Exception {
        CompletableFuture<Response> call = victim.callAsync(request("bad"));
        CompletableFuture<Response> other = victim.callAsync(request("good"));
        other.get(20, TimeUnit.SECONDS).close();
        long id = firstCall();
        int to = victim.info().id();
        bad.respondBroken(bad.response(id, to), flip(RawWorker.payloadAt()));
        bad.response(lying(bad.response(id, to), setShort(Envelope.TYPE, 0x142)));
        bad.response(
                lying(bad.response(id, to), setShort(Envelope.FROM, good.info().id())));
        bad.response(lying(bad.response(id, to), setInt(Envelope.PAYLOAD_LENGTH, 1 << 30)));
        bad.response(bad.response(id + 1_000_000, to)); // a call that there never was
        Waits.until("damaged", () -> victim.counters().damagedRecords() == 4);
        Waits.until("dropped", () -> victim.counters().lateResponses() == 1);
        assertThat(call).isNotDone();
        bad.response(bad.response(id, to));
        bad.response(bad.response(id, to));
        assertThat(call.get(20, TimeUnit.SECONDS).id()).isEqualTo(id);
        Waits.until("the second response dropped", () -> victim.counters().lateResponses() == 2);
    }

    @Test
    void takesNoResponseFromAWorkerThatWasNotAsked() throws Exception {
        // nobody serves this name, so that the call stays open
        try (RawWorker silent = new RawWorker(swarm.home(), "silent").publish()) {
            CompletableFuture<Response> call = victim.callAsync(request("silent"));
            long id = firstCall();
            bad.response(bad.response(id, victim.info().id()));
            Waits.until("damaged", () -> victim.counters().damagedRecords() == 1);
            assertThat(call).isNotDone();
            silent.response(silent.response(id, victim.info().id()));
            assertThat(call.get(20, TimeUnit.SECONDS).from()).isEqualTo(silent.id());
        }
    }

    private long firstCall() {
        return Records.read(victim.directory().path().resolve("requests")).sentNs.keySet().stream()
                .mapToLong(Long::longValue)
                .min()
                .orElseThrow();
    }

    @Test
    void keepsItsMemoryHoweverManyRecordsAreDamaged() throws Exception {
        for (int i = 0; i < 1_000; i++) {
            bad.writeBroken(next(), flip(RawWorker.payloadAt()));
        }
        Waits.until("all damaged", () -> victim.counters().damagedRecords() == 1_000);
        bad.write(next());
        Waits.until("served", () -> victim.counters().requestsBegun() == 2);
    }
}
