package io.waybill.rref;

import static io.waybill.rref.ReferencesTest.error;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.ErrorKind;
import io.waybill.api.MessageType;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Value;
import io.waybill.api.ValueEncoder;
import io.waybill.rref.control.ControlMessage;
import io.waybill.rref.id.ForkData;
import io.waybill.rref.id.RRefId;
import io.waybill.rref.status.Holder;
import io.waybill.rref.status.RRefCounters;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Messages that come twice, late, in another order or never, and workers that die. Worker 1 is the owner. */
@Timeout(10)
class DisorderTest {

    private final Exchange exchange = new Exchange();
    private final SimulatedValue value = new SimulatedValue(null);
    private final List<Optional<CallException>> ready = new ArrayList<>();

    private void requireClean(int... workers) {
        for (int id : workers) {
            assertThat(exchange.worker(id).counters()).as("worker " + id).matches(RRefCounters::isClean);
        }
    }

    @Test
    void leaksNothingWhenADeleteOvertakesItsCreation() {
        UserReference user = exchange.worker(0).creations().create(exchange.incarnation(1), "Tensor");
        exchange.worker(0).release(user);
        exchange.worker(0).creations().creationFailed(user, error(ErrorKind.TIMEOUT, ErrorCode.TIMED_OUT, "late"));
        exchange.deliverAll();
        assertThat(exchange.worker(1).creations().begin(user.id(), user.fork(), exchange.incarnation(0), "Tensor"))
                .isEqualTo(CreationDecision.DELETED);
        requireClean(0, 1);
    }

    @Test
    void leaksNothingWhenADeleteComesWhileTheBodyRuns() {
        UserReference user = exchange.worker(0).creations().create(exchange.incarnation(1), "Tensor");
        exchange.worker(1).creations().begin(user.id(), user.fork(), exchange.incarnation(0), "Tensor");
        exchange.worker(0).release(user);
        exchange.worker(0).creations().creationFailed(user, error(ErrorKind.TIMEOUT, ErrorCode.TIMED_OUT, "late"));
        exchange.deliverAll();
        exchange.worker(1).creations().finish(user.id(), value);
        exchange.worker(0).creations().created(user, user.id(), user.fork());
        assertThat(value.isClosed()).isTrue();
        requireClean(0, 1);
    }

    @Test
    void createsOnceWhenARequestComesTwice() {
        UserReference user = exchange.worker(0).creations().create(exchange.incarnation(1), "Tensor");
        List<String> responded = new ArrayList<>();
        exchange.worker(1).creations().begin(user.id(), user.fork(), exchange.incarnation(0), "Tensor");
        assertThat(exchange.worker(1).creations().begin(user.id(), user.fork(), exchange.incarnation(0), "Tensor"))
                .isEqualTo(CreationDecision.KNOWN);
        exchange.worker(1).whenCompleted(user.id(), () -> responded.add("now"));
        assertThat(responded).isEmpty();
        exchange.worker(1).creations().finish(user.id(), value);
        assertThat(responded).hasSize(1);
        exchange.worker(0).creations().created(user, user.id(), user.fork());
        exchange.worker(0).creations().created(user, user.id(), user.fork());
        exchange.worker(0).release(user);
        exchange.deliverAll();
        assertThat(exchange.worker(1).creations().begin(user.id(), user.fork(), exchange.incarnation(0), "Tensor"))
                .isEqualTo(CreationDecision.DELETED);
        requireClean(0, 1);
    }

    @Test
    void returnsWhatAResponseBringsWithoutAWaitingCall() {
        UserReference parent = exchange.created(0, 1, value);
        OwnerReference own = exchange.worker(1).creations().own(new SimulatedValue(null), "Tensor");
        ForkData ofUser = exchange.worker(0).forks().fork(parent, exchange.incarnation(2));
        ForkData ofOwner = exchange.worker(1).forks().fork(own, exchange.incarnation(2));
        ForkData toOwner = exchange.worker(0).forks().fork(parent, exchange.incarnation(1));
        exchange.worker(0).release(parent);
        exchange.worker(1).release(own);
        exchange.worker(2).forks().decline(ofUser, exchange.incarnation(0));
        exchange.worker(2).forks().decline(ofOwner, exchange.incarnation(1));
        exchange.worker(1).forks().decline(toOwner, exchange.incarnation(0));
        exchange.deliverAll();
        assertThat(value.isClosed()).isTrue();
        requireClean(0, 1, 2);
    }

    @Test
    void keepsWhatAResponseBroughtThatIsDuplicatedWithoutAWaitingCall() {
        OwnerReference own = exchange.worker(1).creations().own(value, "Tensor");
        ForkData data = exchange.worker(1).forks().fork(own, exchange.incarnation(2));
        exchange.worker(1).release(own);
        Arrival arrival = exchange.worker(2).forks().arrive(List.of(data), exchange.incarnation(1));
        exchange.worker(2).forks().decline(data, exchange.incarnation(1));
        exchange.deliverAll();
        assertThat(value.isClosed()).isFalse();
        exchange.worker(2).forks().release(arrival);
        exchange.deliverAll();
        assertThat(value.isClosed()).isTrue();
        requireClean(1, 2);
    }

    @Test
    void ignoresWhatComesTwice() {
        UserReference parent = exchange.created(0, 1, value);
        Arrival arrival = exchange.share(parent, 0, 2);
        Exchange.Sent request = exchange.wire.peek();
        exchange.deliver(exchange.wire.poll());
        exchange.deliver(request);
        assertThat(exchange.worker(1).counters().forks()).isEqualTo(2);
        Exchange.Sent accept = exchange.wire.peek();
        exchange.deliver(exchange.wire.poll());
        exchange.deliver(accept);
        exchange.worker(2).forks().release(arrival);
        Exchange.Sent delete = exchange.wire.peek();
        exchange.deliver(exchange.wire.poll());
        exchange.deliver(delete);
        exchange.deliver(request); // long after its fork was given back
        exchange.worker(0).release(parent);
        exchange.deliverAll();
        assertThat(value.isClosed()).isTrue();
        requireClean(0, 1, 2);
    }

    @Test
    void sendsTheSameBytesAfterOneOneAndAHalfAndSoOnSeconds() {
        UserReference user = exchange.created(0, 1, value);
        long beganNs = exchange.time.monotonicNs();
        exchange.worker(0).release(user);
        ByteBuffer first = exchange.wire.peek().message().payload();
        long[] waitsMs = {1000, 1000, 1500, 2250, 3375};
        for (long waitMs : waitsMs) {
            exchange.failAll();
            exchange.pass(Duration.ofMillis(waitMs - 1));
            assertThat(exchange.wire).as("before " + waitMs).isEmpty();
            exchange.pass(Duration.ofMillis(1));
            assertThat(exchange.wire).as("after " + waitMs).hasSize(1);
            assertThat(exchange.wire.peek().message().payload()).isEqualTo(first);
        }
        assertThat(exchange.time.monotonicNs() - beganNs).isEqualTo(9_125_000_000L);
        exchange.deliverAll();
        requireClean(0, 1);
    }

    @Test
    void goesOnSendingADeleteNowAndThen() {
        UserReference user = exchange.created(0, 1, value);
        exchange.worker(0).release(user);
        for (int i = 0; i < 8; i++) {
            exchange.failAll();
            exchange.pass(Duration.ofSeconds(30));
        }
        assertThat(exchange.notified)
                .containsExactly(
                        "overdue RREF_USER_DELETE to 1: The RPC has not succeeded after the specified number of"
                                + " max retries (5). The last error was: nothing came");
        exchange.deliverAll();
        requireClean(0, 1);
    }

    @Test
    void failsAReferenceWhoseOwnerNeverHearsOfIt() {
        UserReference parent = exchange.created(0, 1, value);
        Arrival arrival = exchange.share(parent, 0, 2);
        exchange.worker(2).forks().whenReady(arrival, ready::add);
        for (int i = 0; i < 6; i++) {
            exchange.failAll();
            exchange.pass(Duration.ofSeconds(4));
        }
        assertThat(ready).hasSize(1);
        assertThat(ready.get(0).orElseThrow()).hasMessageContaining("max retries (5)");
        assertThat(exchange.deliverAll()).containsExactlyInAnyOrder("RREF_CHILD_ACCEPT", "RREF_USER_DELETE");
        exchange.worker(0).release(parent);
        exchange.deliverAll();
        requireClean(0, 1, 2);
    }

    @Test
    void takesALateAcknowledgementForWhatItIs() {
        UserReference user = exchange.created(0, 1, value);
        exchange.worker(0).release(user);
        Exchange.Sent first = exchange.wire.poll();
        first.outcome().failed(ErrorCode.TIMED_OUT, "nothing came");
        exchange.deliver(first);
        assertThat(exchange.worker(0).counters().pendingFutures()).isZero();
        exchange.pass(Duration.ofSeconds(2));
        assertThat(exchange.wire).isEmpty();
        first.outcome().acknowledged();
        requireClean(0, 1);
    }

    @Test
    void releasesTheForksOfAWorkerThatDiedAfterAWhile() {
        exchange.created(0, 1, value);
        exchange.worker(1).lost(exchange.incarnation(0));
        exchange.pass(Duration.ofSeconds(29));
        assertThat(value.isClosed()).isFalse();
        exchange.pass(Duration.ofSeconds(1));
        assertThat(value.isClosed()).isTrue();
        assertThat(exchange.notified).containsExactly("released 1 of worker 0");
        requireClean(1);
    }

    @Test
    void letsAParentGoWhoseChildDiedWithItsReceiver() {
        UserReference parent = exchange.created(0, 1, value);
        exchange.worker(0).forks().fork(parent, exchange.incarnation(2));
        exchange.worker(0).release(parent);
        exchange.worker(0).lost(exchange.incarnation(2));
        assertThat(exchange.wire).isEmpty();
        exchange.pass(Duration.ofSeconds(30));
        assertThat(exchange.deliverAll()).containsExactly("RREF_USER_DELETE");
        requireClean(0, 1);
    }

    @Test
    void completesAReferenceWhoseOwnerDied() {
        UserReference user = exchange.created(0, 1, value);
        exchange.worker(0).lost(exchange.incarnation(1));
        assertThat(exchange.worker(0).confirmedByOwner(user)).isFalse();
        exchange.worker(0).whenCompleted(user, ready::add);
        exchange.pass(Duration.ofSeconds(20));
        assertThat(ready.get(0).orElseThrow().code()).isEqualTo(ErrorCode.OWNER_LOST);
        exchange.worker(0).release(user);
        assertThat(exchange.wire).isEmpty();
        requireClean(0);
    }

    @Test
    void findsAValueAgainThatItsOwnerBroughtBack() {
        UserReference user = exchange.created(0, 1, value);
        exchange.worker(0).lost(exchange.incarnation(1));
        exchange.worker(0).whenCompleted(user, ready::add);
        References back = exchange.begin(new Holder(1, 2), 1000);
        SimulatedValue kept = new SimulatedValue(user.id());
        back.creations().restore(user.id(), kept, "Tensor");
        exchange.worker(0).returned(new Holder(1, 2));
        assertThat(exchange.deliverAll()).containsExactly("RREF_FORK_REQUEST");
        assertThat(ready).containsExactly(Optional.empty());
        exchange.pass(Duration.ofSeconds(31));
        assertThat(kept.isClosed()).isFalse();
        exchange.worker(0).release(user);
        exchange.deliverAll();
        assertThat(kept.isClosed()).isTrue();
        requireClean(0, 1);
    }

    @Test
    void completesAReferenceWhoseOwnerCameBackWithoutTheValue() {
        UserReference user = exchange.created(0, 1, value);
        exchange.worker(0).lost(exchange.incarnation(1));
        exchange.worker(0).whenCompleted(user, ready::add);
        exchange.begin(new Holder(1, 2), 1000);
        exchange.worker(0).returned(new Holder(1, 2));
        exchange.deliverAll();
        assertThat(ready.get(0).orElseThrow().code()).isEqualTo(ErrorCode.OWNER_LOST);
        exchange.worker(0).release(user);
        requireClean(0, 1);
    }

    @Test
    void passesNoReferenceOnWhoseValueAnEarlierIncarnationHad() {
        UserReference user = exchange.created(0, 1, value);
        exchange.begin(new Holder(1, 2), 1000);
        Arrival back = exchange.share(user, 0, 1);
        Reference atOwner = back.references().get(0);
        assertThat(exchange.worker(1).forks().isReady(back)).isFalse();
        exchange.worker(1).forks().whenReady(back, ready::add);
        assertThat(ready.remove(0).orElseThrow().code())
                .as("why the request that brought it is refused")
                .isEqualTo(ErrorCode.OWNER_LOST);
        assertThatExceptionOfType(CallException.class)
                .as("its value would be in the owner's table, as one that was there")
                .isThrownBy(() -> exchange.worker(1).forks().fork(atOwner, exchange.incarnation(2)))
                .satisfies(e -> assertThat(e.code()).isEqualTo(ErrorCode.OWNER_LOST));
        exchange.worker(0).whenCompleted(user, ready::add);
        exchange.deliverAll();
        assertThat(ready.get(0).orElseThrow().code()).isEqualTo(ErrorCode.OWNER_LOST);
        exchange.worker(1).forks().release(back);
        exchange.worker(0).release(user);
        exchange.deliverAll();
        requireClean(0, 1);
    }

    @Test
    void endsAFetchWhoseCreatorDied() {
        Recorded fetch = new Recorded();
        exchange.worker(1).fetch(new RRefId(0, 0), 1, fetch);
        exchange.worker(1).lost(exchange.incarnation(0));
        exchange.pass(Duration.ofSeconds(30));
        assertThat(fetch.failure.code()).isEqualTo(ErrorCode.REFERENCE_DELETED);
        requireClean(1);
    }

    @Test
    void refusesPayloadsThatAreNone() throws RejectedMessageException {
        Value[] wrong = {
            Value.of(1),
            Value.tuple(),
            Value.tuple(Value.of(0), Value.of("x"), Value.of(0), Value.of(0)),
            Value.tuple(Value.of(-1), Value.of(0), Value.of(0), Value.of(0)),
            Value.tuple(Value.of(0), Value.of(1L << 48), Value.of(0), Value.of(0)),
            Value.tuple(Value.of(1L << 40), Value.of(0), Value.of(0), Value.of(0))
        };
        for (Value value : wrong) {
            ByteBuffer payload = ByteBuffer.wrap(new ValueEncoder().value(value).toBytes());
            try {
                ControlMessage.decode(MessageType.RREF_USER_DELETE, payload);
            } catch (RejectedMessageException e) {
                assertThat(e.code()).isEqualTo(ErrorCode.MALFORMED_BODY);
                continue;
            }
            throw new AssertionError("read as a delete: " + value);
        }
    }
}
