package io.waybill.worker.call;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.ErrorKind;
import io.waybill.api.MessageId;
import io.waybill.api.Response;
import io.waybill.api.ResponseListener;
import io.waybill.api.context.CallContext;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.ParkingSettings;
import io.waybill.handling.CallReports;
import io.waybill.home.note.NotedOutcomes;
import io.waybill.host.Host;
import io.waybill.worker.metrics.WorkerCounters;
import io.waybill.worker.poll.FaultAlarm;
import io.waybill.worker.poll.PollPermit;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What a listener sees of the outcome of its call, and what its failure does to others. */
@Timeout(60)
class OutcomeDeliveryTest {

    private static final int PEER = 7;

    @TempDir
    private Path directory;

    private final Host host = Host.real();
    private final PollPermit permit = new PollPermit(new FaultAlarm(host.threads()));
    private final WorkerCounters counters = new WorkerCounters();
    private final List<CallException> seen = new ArrayList<>();
    private OutcomeDelivery delivery;

    @BeforeEach
    void open() {
        HandlerRegistry registry = new HandlerRegistry(ParkingSettings.DEFAULT, host.threads(), host.clock());
        CallReports reports = new CallReports(registry.events(), host.clock());
        delivery = new OutcomeDelivery(permit, reports, counters, new NotedOutcomes(directory, host));
    }

    @AfterEach
    void close() {
        delivery.close();
    }

    private static CallException failure(int counter) {
        return new CallException(
                ErrorKind.UNKNOWN_ERROR, ErrorCode.WORKER_LOST, MessageId.of(3, counter), "planted", null);
    }

    private ResponseListener listener(Consumer<CallException> also) {
        return new ResponseListener() {
            @Override
            public void onResponse(Response response) {
                throw new AssertionError("no response was delivered");
            }

            @Override
            public void onFailure(CallException failure) {
                seen.add(failure);
                also.accept(failure);
            }
        };
    }

    @Test
    void aListenerThatThrowsIsCountedAndHoldsBackNoOther() {
        ResponseListener throwing = listener(failure -> {
            throw new StackOverflowError("planted");
        });
        delivery.fail(CallContext.EMPTY, PEER, throwing, failure(1));
        delivery.fail(CallContext.EMPTY, PEER, listener(failure -> {}), failure(2));
        assertThat(seen).extracting(CallException::messageId).containsExactly(MessageId.of(3, 1), MessageId.of(3, 2));
        assertThat(counters.listenerErrors()).isEqualTo(1);
    }

    @Test
    void aListenerRunsInTheContextOfItsCall() {
        List<CallContext> contexts = new ArrayList<>();
        CallContext ofTheCall = CallContext.EMPTY.with("user", "ada");
        delivery.fail(ofTheCall, PEER, listener(failure -> contexts.add(CallContext.current())), failure(1));
        assertThat(contexts).containsExactly(ofTheCall);
        assertThat(CallContext.current()).as("afterwards").isEqualTo(CallContext.EMPTY);
    }

    @Test
    void anInterruptOfTheThreadIsNotForTheListener() {
        List<Boolean> interrupted = new ArrayList<>();
        Thread.currentThread().interrupt();
        try {
            delivery.fail(
                    CallContext.EMPTY,
                    PEER,
                    listener(failure -> interrupted.add(Thread.currentThread().isInterrupted())),
                    failure(1));
        } finally {
            assertThat(Thread.interrupted()).as("afterwards").isTrue();
        }
        assertThat(interrupted).containsExactly(false);
    }

    @Test
    void onlyAFailureThatNoRecordHasIsNoted() {
        Path noted = directory.resolve(NotedOutcomes.FILE);
        delivery.fail(CallContext.EMPTY, PEER, listener(failure -> {}), failure(1));
        assertThat(noted).doesNotExist();
        delivery.failUnrecorded(
                CallContext.EMPTY,
                PEER,
                listener(failure -> {
                    assertThat(Files.exists(noted))
                            .as("noted before the listener hears of it")
                            .isTrue();
                }),
                failure(2));
        assertThat(seen).hasSize(2);
        assertThat(counters.listenerErrors()).isZero();
    }

    @Test
    void theHolderOfThePermitKeepsItAcrossAListener() {
        assertThat(permit.tryAcquire()).isTrue();
        List<Boolean> mine = new ArrayList<>();
        delivery.fail(CallContext.EMPTY, PEER, listener(failure -> mine.add(permit.isMine())), failure(1));
        assertThat(mine).containsExactly(true);
        assertThat(permit.isMine()).isTrue();
        permit.release();
    }
}
