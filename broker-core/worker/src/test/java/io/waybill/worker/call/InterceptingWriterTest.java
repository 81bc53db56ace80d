package io.waybill.worker.call;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.MessageType;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.ResponseListener;
import io.waybill.api.Value;
import io.waybill.api.intercept.CallInterceptor;
import io.waybill.api.intercept.IncomingResponse;
import io.waybill.api.intercept.InterceptedCall;
import io.waybill.api.intercept.OutgoingCall;
import io.waybill.dispatch.HandlerKey;
import io.waybill.dispatch.Provider;
import io.waybill.host.Host;
import io.waybill.host.ManualClock;
import io.waybill.host.Threads;
import io.waybill.injection.InjectionSettings;
import io.waybill.intercept.InterceptorSpec;
import io.waybill.intercept.Interceptors;
import io.waybill.journal.JournalQueue;
import io.waybill.journal.read.QueueReader;
import io.waybill.worker.publish.PublishingRoom;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Requests that pass interceptors before they are written: what is on record then, and what happens while an interceptor is replaced. */
@Timeout(60)
class InterceptingWriterTest {

    private static final Provider ACME = new Provider("acme", "1.0.0");
    private static final MessageType WRAPPED = MessageType.userRequest(0x43);

    @TempDir
    private Path directory;

    private final ManualClock clock = new ManualClock();
    private final List<String> events = new ArrayList<>();
    private final Thread test = Thread.currentThread();
    private Runnable onWait = () -> {};
    private CallingRoom room;

    /** Runs an action of the test when its thread is about to wait. */
    private final class Waiters implements Threads {

        @Override
        public Thread start(String name, Runnable body) {
            return Host.real().threads().start(name, body);
        }

        @Override
        public void giveWay() {
            waits();
            Threads.super.giveWay();
        }

        @Override
        public void park(Object blocker, long maxNs) {
            waits();
            Threads.super.park(blocker, maxNs);
        }

        private void waits() {
            if (Thread.currentThread() == test) {
                onWait.run();
            }
        }
    }

    /** Notes what it is called for. */
    private class Noting implements CallInterceptor {
        private final String name;

        Noting(String name) {
            this.name = name;
        }

        @Override
        public void onRequest(OutgoingCall call) throws RejectedMessageException {
            events.add(name + " request " + call.type());
        }

        @Override
        public void onResponse(IncomingResponse response) {
            events.add(name + " response");
        }

        @Override
        public void onFailure(InterceptedCall call, CallException failure) {
            events.add(name + " " + failure.code());
        }
    }

    private final ResponseListener listener = new ResponseListener() {
        @Override
        public void onResponse(Response response) {
            events.add("program response");
        }

        @Override
        public void onFailure(CallException failure) {
            events.add("program " + failure.code());
        }
    };

    @BeforeEach
    void open() throws Exception {
        room = new CallingRoom(directory, clock, new Waiters(), InjectionSettings.NONE);
    }

    @AfterEach
    void close() throws IOException {
        room.close();
    }

    private Interceptors.Registration add(CallInterceptor interceptor, int ranking) {
        return room.interceptors
                .calls()
                .add(new InterceptorSpec<>(List.of(new HandlerKey.OfAnyType()), interceptor, ACME, ranking));
    }

    private long call() {
        return room.calls.call(CallingRoom.request(), listener);
    }

    /** Returns the types of the requests on record. */
    private List<MessageType> sent() throws IOException {
        List<MessageType> found = new ArrayList<>();
        Path queue = JournalQueue.REQUESTS.in(room.publishing.directory.path());
        try (QueueReader reader = QueueReader.open(queue, room.publishing.host.files(), PublishingRoom.JOURNAL)) {
            while (reader.next() == QueueReader.Step.RECORD) {
                found.add(reader.record().type());
            }
        }
        return found;
    }

    /** Opens what a thread that waits polls; its poller has nothing to do. */
    private void openPolling() {
        room.start(request -> {});
    }

    @Test
    void aRequestIsOnRecordAsItsInterceptorsWrappedItAndTheResponsePassesThemBackwards() throws Exception {
        add(new Noting("last"), 1);
        add(
                new Noting("first") {
                    @Override
                    public void onRequest(OutgoingCall call) throws RejectedMessageException {
                        super.onRequest(call);
                        call.wrap(WRAPPED, ByteBuffer.allocate(8));
                    }
                },
                2);
        long id = call();
        assertThat(sent()).as("requests on record").containsExactly(WRAPPED);
        assertThat(room.permit.tryAcquire()).isTrue();
        room.respond(id, Value.of("on"));
        room.poll();
        assertThat(events)
                .as("calls of the interceptors and the program")
                .containsExactly(
                        "first request " + CallingRoom.TYPE,
                        "last request " + WRAPPED,
                        "last response",
                        "first response",
                        "program response");
        room.permit.release();
    }

    @Test
    void aCallThatIsRejectedOrCanNotBeSentIsAFailureForTheInterceptorsThatSawIt() throws Exception {
        Interceptors.Registration rejects = add(
                new Noting("rejects") {
                    @Override
                    public void onRequest(OutgoingCall call) throws RejectedMessageException {
                        throw new RejectedMessageException(ErrorCode.BACK_PRESSURE, "planted");
                    }
                },
                1);
        add(new Noting("notes"), 2);
        assertThatThrownBy(this::call, "a call that an interceptor rejects")
                .isInstanceOfSatisfying(
                        CallException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.BACK_PRESSURE));
        assertThat(events)
                .as("calls of the interceptors")
                .containsExactly("notes request " + CallingRoom.TYPE, "notes BACK_PRESSURE");
        rejects.withdraw(Duration.ZERO);
        events.clear();
        Request toNoWorker = Request.raw("missing", CallingRoom.TYPE, ByteBuffer.allocate(8), List.of());
        assertThatThrownBy(() -> room.calls.call(toNoWorker, listener), "a call of no worker")
                .isInstanceOf(CallException.class);
        assertThat(events)
                .as("calls of the interceptors, and none of the program's listener")
                .containsExactly("notes request " + CallingRoom.TYPE, "notes UNKNOWN_WORKER");
        assertThat(sent()).as("requests on record").isEmpty();
        assertThat(room.parts.pending.size()).as("calls in flight").isZero();
    }

    @Test
    void aCallOfAnInterceptorIsNotIntercepted() throws Exception {
        add(
                new Noting("calls") {
                    private int left = 3; // calls, which would not end if they were intercepted

                    private void callInside() {
                        if (left-- > 0) {
                            room.calls.call(CallingRoom.request(), listener);
                        }
                    }

                    @Override
                    public boolean isInterceptingCalls() {
                        callInside();
                        return true;
                    }

                    @Override
                    public void onRequest(OutgoingCall call) throws RejectedMessageException {
                        super.onRequest(call);
                        callInside();
                        call.wrap(WRAPPED, ByteBuffer.allocate(8));
                    }
                },
                0);
        call();
        assertThat(events).as("calls of the interceptor").containsExactly("calls request " + CallingRoom.TYPE);
        assertThat(sent()).as("requests on record").containsExactly(CallingRoom.TYPE, CallingRoom.TYPE, WRAPPED);
    }

    @Test
    void aCallWaitsForTheNextVersionOfAnInterceptorThatIsReplaced() throws Exception {
        openPolling();
        Interceptors.Registration old = add(new Noting("old"), 0);
        room.interceptors.calls().replacing(ACME.name());
        old.withdraw(Duration.ZERO);
        onWait = () -> {
            onWait = () -> {};
            add(new Noting("new"), 0);
            room.interceptors.calls().replaced(ACME.name());
        };
        call();
        assertThat(events).as("calls of the interceptors").containsExactly("new request " + CallingRoom.TYPE);
        assertThat(sent()).as("requests on record").containsExactly(CallingRoom.TYPE);
    }

    @Test
    void aCallThatWaitsForAnInterceptorEndsAtItsDeadlineOrWithTheWorker() throws Exception {
        openPolling();
        Interceptors.Registration old = add(new Noting("old"), 0);
        room.interceptors.calls().replacing(ACME.name());
        old.withdraw(Duration.ZERO);
        onWait = () -> clock.advance(CallingRoom.TIMEOUT);
        assertThatThrownBy(this::call, "a call whose deadline passes")
                .hasMessageContaining("is being replaced")
                .isInstanceOfSatisfying(
                        CallException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.TIMED_OUT));
        onWait = room.parts.writer::close;
        assertThatThrownBy(this::call, "a call while the worker closes")
                .isInstanceOfSatisfying(
                        CallException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.CLOSED));
        assertThat(sent()).as("requests on record").isEmpty();
    }

    @Test
    void aThreadThatMustNotWaitPassesTheVersionThatLeavesAndIsRefusedAfterIt() throws Exception {
        Interceptors.Registration old = add(new Noting("old"), 0);
        room.interceptors.calls().replacing(ACME.name());
        assertThat(room.permit.tryAcquire()).isTrue();
        long id = call();
        room.respond(id, Value.of("on"));
        room.poll();
        old.withdraw(Duration.ZERO);
        assertThatThrownBy(this::call, "a call between two versions")
                .isInstanceOfSatisfying(
                        CallException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.BACK_PRESSURE));
        assertThat(events)
                .as("calls of the interceptor and the program")
                .containsExactly("old request " + CallingRoom.TYPE, "old response", "program response");
        assertThat(sent()).as("requests on record").containsExactly(CallingRoom.TYPE);
        room.permit.release();
    }
}
