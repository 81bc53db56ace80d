package io.waybill.worker.call;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.ErrorKind;
import io.waybill.api.MessageType;
import io.waybill.api.Response;
import io.waybill.api.ResponseListener;
import io.waybill.api.Value;
import io.waybill.host.ManualClock;
import io.waybill.worker.poll.PermitRevokedException;
import io.waybill.worker.poll.Revoker;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.LongStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Which outcome a call gets, from what its peer wrote or did not write, and that it gets one. The thread of the test polls. */
@Timeout(60)
class ResponseReceiverTest {

    private static final int MAX_PER_POLL = 64;

    @TempDir
    private Path directory;

    private final ManualClock clock = new ManualClock();
    private final List<String> outcomes = new ArrayList<>();
    private Runnable inListener = () -> {};
    private CallingRoom room;

    @BeforeEach
    void open() throws Exception {
        room = new CallingRoom(directory, clock);
        assertThat(room.permit.tryAcquire()).isTrue();
    }

    @AfterEach
    void close() throws IOException {
        room.close();
    }

    private long send() {
        return room.calls.call(CallingRoom.request(), new ResponseListener() {
            @Override
            public void onResponse(Response response) {
                outcomes.add(CallingRoom.text(response.id()) + " " + response.value());
                inListener.run();
            }

            @Override
            public void onFailure(CallException failure) {
                outcomes.add(CallingRoom.text(failure.messageId()) + " " + failure.code());
            }
        });
    }

    private static String responded(long id, String value) {
        return CallingRoom.text(id) + " " + Value.of(value);
    }

    private static String failed(long id, ErrorCode code) {
        return CallingRoom.text(id) + " " + code;
    }

    @Test
    void aCallGetsItsResponseAndASecondOneIsCountedAsLate() throws Exception {
        long first = send();
        long second = send();
        room.respond(second, Value.of("two"));
        room.respond(second, Value.of("again"));
        room.write(room.begin(MessageType.EXCEPTION, first, room.id, Value.of("no"))
                .error(ErrorKind.UNKNOWN_ERROR, ErrorCode.HANDLER_FAILED));
        assertThat(room.poll()).as("records that were read").isEqualTo(3);
        assertThat(outcomes)
                .as("the outcomes")
                .containsExactly(responded(second, "two"), failed(first, ErrorCode.HANDLER_FAILED));
        assertThat(room.publishing.counters.lateResponses())
                .as("late responses")
                .isEqualTo(1);
        assertThat(room.parts.pending.size()).as("calls without an outcome").isZero();
        assertThat(room.link.flow().inFlight())
                .as("calls in flight to the peer")
                .isZero();
    }

    @Test
    void aRecordThatIsNoResponseOfThePeerIsDamageAndEndsNoCall() throws Exception {
        long call = send();
        room.write(room.begin(CallingRoom.TYPE, call, room.id, Value.of("a request")));
        room.write(room.begin(MessageType.NAMED_RET, call, room.id + 1, Value.of("of another")));
        room.poll();
        assertThat(outcomes).as("outcomes from what is no response").isEmpty();
        assertThat(room.publishing.counters.damagedRecords())
                .as("damaged records")
                .isEqualTo(2);
        room.respond(call, Value.of("its own"));
        room.poll();
        assertThat(outcomes).as("the outcome").containsExactly(responded(call, "its own"));
    }

    @Test
    void aPollReadsAPartOfABurstAndTheNextOneTheRest() throws Exception {
        long[] ids = new long[MAX_PER_POLL + 10];
        for (int i = 0; i < ids.length; i++) {
            ids[i] = send();
        }
        for (long id : ids) {
            room.respond(id, Value.of("on"));
        }
        assertThat(room.poll()).as("the work of the first poll").isPositive();
        assertThat(outcomes).as("outcomes after the first poll").hasSize(MAX_PER_POLL);
        assertThat(room.poll()).as("the work of the second poll").isEqualTo(10);
        assertThat(room.poll()).as("the work when all is read").isZero();
        assertThat(outcomes)
                .as("outcomes")
                .containsExactlyElementsOf(
                        LongStream.of(ids).mapToObj(id -> responded(id, "on")).toList());
    }

    @Test
    void aCallTimesOutAtItsDeadlineAndNotBefore() throws Exception {
        long call = send();
        clock.advance(CallingRoom.TIMEOUT.minusMillis(1));
        room.receiver.expire(clock.bootNs());
        assertThat(outcomes).as("outcomes before the deadline").isEmpty();
        long later = send();
        clock.advance(Duration.ofMillis(1));
        room.receiver.expire(clock.bootNs());
        assertThat(outcomes).as("outcomes at the deadline").containsExactly(failed(call, ErrorCode.TIMED_OUT));
        assertThat(room.publishing.counters.timeouts()).as("timeouts").isEqualTo(1);
        room.respond(call, Value.of("late"));
        room.poll();
        assertThat(room.publishing.counters.lateResponses())
                .as("late responses")
                .isEqualTo(1);
        clock.advance(CallingRoom.TIMEOUT);
        room.receiver.expire(clock.bootNs());
        assertThat(outcomes)
                .as("outcomes at the deadline of the other call")
                .containsExactly(failed(call, ErrorCode.TIMED_OUT), failed(later, ErrorCode.TIMED_OUT));
    }

    @Test
    void callsToAPeerThatEndedFailOnlyWhenItsLastResponsesAreRead() throws Exception {
        long responded = send();
        long other = send();
        room.respond(responded, Value.of("the last"));
        room.receiver.sweep(room.link);
        assertThat(outcomes).as("outcomes while responses are left").containsExactly(responded(responded, "the last"));
        assertThat(room.link.isSwept())
                .as("the link is ended while responses are left")
                .isFalse();
        room.receiver.sweep(room.link);
        assertThat(outcomes).as("outcomes").hasSize(2).last().asString().startsWith(CallingRoom.text(other) + " ");
        assertThat(room.link.isSwept()).as("the link is ended").isTrue();
        assertThat(room.parts.pending.size()).as("calls without an outcome").isZero();
    }

    @Test
    void aListenerThatLosesThePermitEndsThePollAndTheNextHolderReadsOn() throws Exception {
        long first = send();
        long second = send();
        room.respond(first, Value.of("one"));
        room.respond(second, Value.of("two"));
        inListener = () -> {
            inListener = () -> {};
            assertThat(Revoker.revoke(room.permit)).as("the permit was revoked").isTrue();
        };
        assertThatThrownBy(() -> room.poll(), "the poll whose listener lost the permit")
                .isInstanceOf(PermitRevokedException.class);
        assertThat(outcomes).as("outcomes until then").containsExactly(responded(first, "one"));
        assertThat(room.permit.tryAcquire()).as("the permit is free").isTrue();
        assertThat(room.poll()).as("records that the next holder reads").isEqualTo(1);
        assertThat(outcomes).as("outcomes").containsExactly(responded(first, "one"), responded(second, "two"));
    }

    @Test
    void theCloseEndsEveryCallWithTheFailureOfTheCloser() throws Exception {
        long first = send();
        long second = send();
        room.respond(first, Value.of("too late"));
        room.receiver.failAll(id -> room.parts.writer.ended(id, "a"));
        assertThat(outcomes)
                .as("outcomes")
                .containsExactlyInAnyOrder(failed(first, ErrorCode.CLOSED), failed(second, ErrorCode.CLOSED));
        room.poll();
        assertThat(outcomes).as("outcomes after another poll").hasSize(2);
        assertThat(room.link.flow().inFlight())
                .as("calls in flight to the peer")
                .isZero();
    }
}
