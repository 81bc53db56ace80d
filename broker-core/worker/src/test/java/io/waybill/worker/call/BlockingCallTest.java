package io.waybill.worker.call;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.api.Response;
import io.waybill.api.tensor.Tensor;
import io.waybill.dispatch.DaemonThreads;
import io.waybill.event.CallListeners;
import io.waybill.handling.CallReports;
import io.waybill.testing.core.Waits;
import io.waybill.wire.MalformedRecordException;
import io.waybill.wire.MessageBuffer;
import io.waybill.wire.RecordView;
import io.waybill.worker.peer.CallErrors;
import io.waybill.worker.poll.NothingToPoll;
import io.waybill.worker.poll.PollContext;
import io.waybill.worker.poll.PollTimes;
import io.waybill.worker.poll.Poller;
import io.waybill.worker.poll.Waiting;
import io.waybill.worker.poll.WaitingCallers;
import io.waybill.worker.publish.PublishingRoom;
import io.waybill.worker.reference.ReceivedReferences;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Calls with a waiting thread: it gets the outcome that another thread has brought, and reports it. */
@Timeout(60)
class BlockingCallTest {

    private static final long ID = MessageId.of(3, 99);
    private static final int PEER = 5;

    @TempDir
    private Path directory;

    private final List<String> events = new CopyOnWriteArrayList<>();
    private final CallException failure = CallErrors.timedOut(ID, 1, "peer");
    private PublishingRoom room;
    private Poller poller;
    private WaitingCallers waits;
    private CallReports reports;
    private BlockingCall call;

    @BeforeEach
    void open() throws Exception {
        room = new PublishingRoom(directory);
        PollContext polling = new PollContext(
                "a", PollTimes.of(Waiting.BALANCED), room.host, room.directory.cursors(), room.directory.doorbell());
        poller = new Poller(polling);
        poller.start(new NothingToPoll());
        CallListeners listeners = new CallListeners(room.host.threads(), room.host.clock());
        listeners.add("test", event -> events.add(event.kind() + " " + MessageId.text(event.id())), () -> {});
        reports = new CallReports(listeners, room.host.clock());
        waits = new WaitingCallers(polling, poller);
        call = new BlockingCall(waits);
    }

    @AfterEach
    void close() throws IOException {
        poller.close();
        room.close();
    }

    private static ResponseView response(Tensor... tensors) throws MalformedRecordException {
        MessageBuffer buffer = new MessageBuffer().begin(MessageType.userRequest(0x42), ID, PEER, 3, 0, 0);
        buffer.seal(0);
        RecordView record = new RecordView(buffer);
        record.check();
        ResponseView view = new ResponseView();
        view.open(record, List.of(tensors), ReceivedReferences.none());
        return view;
    }

    private static void elsewhere(Runnable completes) {
        new DaemonThreads().start("completes", completes);
    }

    @Test
    void theWaitEndsWithAResponseOfAnotherThread() throws Exception {
        assertThat(call.isMet()).as("whether there is an outcome before").isFalse();
        ResponseView view = response();
        elsewhere(() -> {
            call.onResponse(view);
            view.closeView();
        });
        call.await();
        assertThat(call.isMet()).as("whether there is an outcome").isTrue();
        try (Response outcome = call.outcome()) {
            assertThat(outcome.id()).as("the id of the response").isEqualTo(ID);
            assertThat(outcome.from()).as("the worker that responded").isEqualTo(PEER);
        }
    }

    @Test
    void theWaitEndsWithAFailureOfAnotherThread() {
        elsewhere(() -> call.onFailure(failure));
        call.await();
        assertThat(catchThrowable(call::outcome)).as("the outcome").isSameAs(failure);
        assertThat(failure.getSuppressed()).as("where the call was made").hasSize(1);
        assertThat(failure.getSuppressed()[0].getStackTrace())
                .as("the stack of the waiting thread")
                .anyMatch(frame -> frame.getClassName().equals(BlockingCallTest.class.getName()));
    }

    @Test
    void theWaitForAnOutcomeThatIsThereEndsAtOnce() {
        call.onFailure(failure);
        call.await();
        assertThat(catchThrowable(call::outcome)).as("the outcome").isSameAs(failure);
    }

    /** Nothing else wakes it in this time. */
    @Test
    void aParkedThreadIsWokenByTheOutcome() {
        AtomicReference<BlockingCall> made = new AtomicReference<>();
        Thread waiter = new DaemonThreads().start("waits", () -> {
            BlockingCall own = new BlockingCall(waits);
            made.set(own);
            while (!own.isMet()) {
                own.park(Long.MAX_VALUE);
            }
        });
        Waits.until(
                "the waiting thread is parked",
                () -> made.get() != null && waiter.getState() == Thread.State.TIMED_WAITING);
        made.get().onFailure(failure);
        Waits.until("the parked thread goes on", () -> !waiter.isAlive());
    }

    @Test
    void theDoorbellIsRungByTheOutcomeOfAnotherThreadAlone() throws Exception {
        List<String> rings = new CopyOnWriteArrayList<>();
        assertThat(call.wakenBy(() -> rings.add("ring")))
                .as("whether a platform thread waits at the doorbell")
                .isTrue();
        call.onFailure(failure);
        assertThat(rings).as("rings for an outcome of the waiting thread").isEmpty();
        Thread other = new DaemonThreads().start("completes", () -> call.onFailure(failure));
        other.join();
        assertThat(rings).as("rings for an outcome of another thread").containsExactly("ring");
        call.wakenBy(null);
        Thread last = new DaemonThreads().start("completes", () -> call.onFailure(failure));
        last.join();
        assertThat(rings).as("rings after the thread has left the doorbell").hasSize(1);
    }

    @Test
    void aResponseThatCanNotBeKeptIsAFailure() throws Exception {
        CountedStorage failing = new CountedStorage();
        failing.fail(new StackOverflowError("planted"));
        call.onResponse(response(failing.tensor()));
        call.await();
        assertThat(catchThrowable(call::outcome))
                .as("the outcome")
                .isInstanceOfSatisfying(
                        CallException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.DEVICE_LOST));
    }

    @Test
    void theEndIsReportedWhenThatWasAskedFor() {
        call.onFailure(failure);
        call.report(reports);
        call.reported(PEER);
        call.report(reports);
        Waits.until("an event", () -> !events.isEmpty());
        assertThat(events).as("events, of the second report alone").containsExactly("ENDED " + MessageId.text(ID));
    }
}
