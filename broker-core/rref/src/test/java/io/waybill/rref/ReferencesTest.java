package io.waybill.rref;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.ErrorKind;
import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.rref.id.ForkData;
import io.waybill.rref.id.ForkId;
import io.waybill.rref.id.RRefId;
import io.waybill.rref.status.DrainReport;
import io.waybill.rref.status.RRefCounters;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** How references come to be, travel and end, when every message arrives once. Worker 1 is the owner. */
@Timeout(10)
class ReferencesTest {

    private final Exchange exchange = new Exchange();
    private final SimulatedValue value = new SimulatedValue(null);
    private final List<Optional<CallException>> ready = new ArrayList<>();

    private RRefCounters counters(int worker) {
        return exchange.worker(worker).counters();
    }

    private void requireClean() {
        for (int id = 0; id < 3; id++) {
            assertThat(counters(id)).as("worker " + id).matches(RRefCounters::isClean);
        }
    }

    @Test
    void takesTheReferencesIdFirstAndThenTheForks() {
        UserReference first = exchange.worker(0).creations().create(exchange.incarnation(1), "Tensor");
        UserReference second = exchange.worker(0).creations().create(exchange.incarnation(1), "Tensor");
        assertThat(first.id()).isEqualTo(new RRefId(0, 0));
        assertThat(first.fork()).isEqualTo(new ForkId(0, 1));
        assertThat(second.id()).hasToString("GloballyUniqueId(created_on=0, local_id=2)");
        assertThat(first)
                .hasToString("UserRRef(RRefId = GloballyUniqueId(created_on=0, local_id=0), "
                        + "ForkId = GloballyUniqueId(created_on=0, local_id=1))");
    }

    @Test
    void countsAReferenceFromItsCreationToItsDeletion() {
        UserReference user = exchange.worker(0).creations().create(exchange.incarnation(1), "Tensor");
        assertThat(counters(0).debugInfo()).containsEntry("num_pending_users", "1");
        assertThat(exchange.worker(1).creations().begin(user.id(), user.fork(), exchange.incarnation(0), "Tensor"))
                .isEqualTo(CreationDecision.RUN);
        exchange.worker(1).creations().finish(user.id(), value);
        assertThat(exchange.worker(0).confirmedByOwner(user)).isFalse();
        exchange.worker(0).creations().created(user, user.id(), user.fork());
        assertThat(exchange.worker(0).confirmedByOwner(user)).isTrue();
        assertThat(counters(0).debugInfo()).containsEntry("num_pending_users", "0");
        assertThat(counters(1).debugInfo())
                .containsEntry("num_owner_rrefs", "1")
                .containsEntry("num_forks", "1");
        exchange.worker(0).release(user);
        assertThat(counters(0).debugInfo()).containsEntry("num_pending_futures", "1");
        assertThat(exchange.deliverAll()).containsExactly("RREF_USER_DELETE");
        assertThat(value.isClosed()).isTrue();
        requireClean();
    }

    @Test
    void keepsAReferenceWhileAnyHandleIsOpen() {
        UserReference user = exchange.created(0, 1, value);
        exchange.worker(0).retain(user);
        exchange.worker(0).release(user);
        assertThat(exchange.wire).isEmpty();
        exchange.worker(0).release(user);
        assertThat(exchange.wire).hasSize(1);
        assertThatExceptionOfType(CallException.class)
                .isThrownBy(() -> exchange.worker(0).requireUsable(user, "toHere()"))
                .withMessage("UserRRef(rref_id=" + user.id() + ", fork_id=" + user.fork()
                        + ") has been deleted. Cannot call toHere() on it after deletion.")
                .matches(e -> e.code() == ErrorCode.REFERENCE_DELETED);
    }

    @Test
    void sharesFromTheOwnerWithoutAMessage() {
        OwnerReference own = exchange.worker(1).creations().own(value, "Tensor");
        assertThat(counters(1).ownerRRefs()).isZero();
        Arrival arrival = exchange.share(own, 1, 2);
        assertThat(counters(1).forks()).isOne();
        assertThat(exchange.wire).isEmpty();
        assertThat(exchange.worker(2).confirmedByOwner(arrival.references().get(0)))
                .isTrue();
        exchange.worker(1).release(own);
        assertThat(value.isClosed()).isFalse();
        exchange.worker(2).forks().release(arrival);
        assertThat(exchange.deliverAll()).containsExactly("RREF_USER_DELETE");
        assertThat(value.isClosed()).isTrue();
        requireClean();
    }

    @Test
    void sharesBetweenUsersAndKeepsTheParentUntilTheChildIsKnown() {
        UserReference parent = exchange.created(0, 1, value);
        Arrival arrival = exchange.share(parent, 0, 2);
        exchange.worker(2).forks().whenReady(arrival, ready::add);
        assertThat(ready).as("the body waits").isEmpty();
        exchange.worker(0).release(parent);
        assertThat(exchange.wire).as("no delete before the child is known (G2)").hasSize(1);
        assertThat(exchange.deliver(exchange.wire.poll())).isEqualTo("RREF_FORK_REQUEST");
        assertThat(ready).containsExactly(Optional.empty());
        assertThat(counters(1).forks()).isEqualTo(2);
        assertThat(exchange.deliverAll()).containsExactly("RREF_CHILD_ACCEPT", "RREF_USER_DELETE");
        assertThat(value.isClosed()).isFalse();
        exchange.worker(2).forks().release(arrival);
        assertThat(exchange.deliverAll()).containsExactly("RREF_USER_DELETE");
        assertThat(value.isClosed()).isTrue();
        requireClean();
    }

    @Test
    void sharesBetweenUsersWithThreeMessages() {
        UserReference parent = exchange.created(0, 1, value);
        Arrival arrival = exchange.share(parent, 0, 2);
        exchange.worker(2).forks().whenReady(arrival, ready::add);
        Exchange.Sent request = exchange.wire.remove();
        assertThat(request.message().type()).isEqualTo(MessageType.RREF_FORK_REQUEST);
        assertThat(exchange.worker(1).receive(request.message(), exchange.incarnation(2)))
                .isEmpty(); // the first
        assertThat(ready).isEmpty();

        request.outcome().acknowledged(); // the second

        assertThat(ready).as("the body begins").containsExactly(Optional.empty());
        Exchange.Sent accept = exchange.wire.remove();
        assertThat(accept.message().type()).isEqualTo(MessageType.RREF_CHILD_ACCEPT);
        assertThat(counters(0).pendingChildren()).isOne();

        assertThat(exchange.worker(0).receive(accept.message(), exchange.incarnation(2)))
                .isEmpty(); // the third

        assertThat(counters(0).pendingChildren()).as("the parent is free").isZero();
        assertThat(exchange.wire).isEmpty();
    }

    @Test
    void sharesBackToTheOwnerWithAPhantomFork() {
        UserReference user = exchange.created(0, 1, value);
        Arrival arrival = exchange.share(user, 0, 1);
        exchange.worker(1).forks().whenReady(arrival, ready::add);
        assertThat(ready).containsExactly(Optional.empty());
        assertThat(arrival.references().get(0).isOwner()).isTrue();
        assertThat(counters(1).forks()).isOne();
        exchange.worker(0).release(user);
        assertThat(exchange.deliverAll()).containsExactly("RREF_CHILD_ACCEPT", "RREF_USER_DELETE");
        assertThat(value.isClosed()).as("the body has a handle").isFalse();
        exchange.worker(1).forks().release(arrival);
        assertThat(value.isClosed()).isTrue();
        requireClean();
    }

    @Test
    void sharesFromTheOwnerToItself() {
        OwnerReference own = exchange.worker(1).creations().own(value, "Tensor");
        Arrival arrival = exchange.share(own, 1, 1);
        assertThat(arrival.references()).containsExactly(own);
        assertThat(counters(1).forks()).isZero();
        exchange.worker(1).release(own);
        assertThat(value.isClosed()).isFalse();
        exchange.worker(1).forks().release(arrival);
        assertThat(value.isClosed()).isTrue();
        assertThat(exchange.wire).isEmpty();
        requireClean();
    }

    @Test
    void sharesFromAUserToItself() {
        UserReference user = exchange.created(0, 1, value);
        Arrival arrival = exchange.share(user, 0, 0);
        exchange.worker(0).release(user);
        assertThat(exchange.deliverAll()).containsExactly("RREF_FORK_REQUEST", "RREF_CHILD_ACCEPT", "RREF_USER_DELETE");
        exchange.worker(0).forks().release(arrival);
        exchange.deliverAll();
        assertThat(value.isClosed()).isTrue();
        requireClean();
    }

    @Test
    void createsAValueOfItsOwn() {
        OwnerReference own = exchange.worker(1).creations().createHere("Tensor");
        assertThat(counters(1).ownerRRefs()).isOne();
        Recorded read = new Recorded();
        exchange.worker(1).read(own, read);
        ForkId self = ForkId.ofOwner(own.id());
        assertThat(exchange.worker(1).creations().begin(own.id(), self, exchange.incarnation(1), "Tensor"))
                .isEqualTo(CreationDecision.RUN);
        assertThat(exchange.worker(1).creations().begin(own.id(), self, exchange.incarnation(1), "Tensor"))
                .isEqualTo(CreationDecision.KNOWN);
        exchange.worker(1).creations().finish(own.id(), value);
        assertThat(read.value).isSameAs(value);
        assertThat(counters(1).ownerRRefs()).isZero();
        exchange.worker(1).release(own);
        assertThat(value.isClosed()).isTrue();
        requireClean();
    }

    @Test
    void keepsAFetchThatCameBeforeTheCreation() {
        UserReference user = exchange.worker(0).creations().create(exchange.incarnation(1), "Tensor");
        Recorded fetch = new Recorded();
        exchange.worker(1).fetch(user.id(), 1, fetch);
        assertThat(counters(1).ownerRRefs()).isZero();
        exchange.worker(1).creations().begin(user.id(), user.fork(), exchange.incarnation(0), "Tensor");
        assertThat(fetch.value).isNull();
        exchange.worker(1).creations().finish(user.id(), value);
        assertThat(fetch.value).isSameAs(value);
    }

    @Test
    void letsAFetchGoWhoseCallerGaveUp() {
        Recorded fetch = new Recorded(exchange.time.monotonicNs() + 1_000_000);
        exchange.worker(1).fetch(new RRefId(0, 0), 1, fetch);
        exchange.pass(Duration.ofSeconds(2));
        assertThat(fetch.failure.code()).isEqualTo(ErrorCode.TIMED_OUT);
        assertThat(exchange.worker(1).owners().table().held()).isZero();
    }

    @Test
    void givesTheErrorOfABodyToEveryoneWhoWantsTheValue() {
        UserReference user = exchange.worker(0).creations().create(exchange.incarnation(1), "Tensor");
        exchange.worker(1).creations().begin(user.id(), user.fork(), exchange.incarnation(0), "Tensor");
        CallException why = error(ErrorKind.UNKNOWN_ERROR, ErrorCode.REFUSED, "no");
        exchange.worker(1).creations().finishFailed(user.id(), why);
        exchange.worker(0).creations().created(user, user.id(), user.fork());
        Recorded fetch = new Recorded();
        exchange.worker(1).fetch(user.id(), 1, fetch);
        assertThat(fetch.failure).isSameAs(why);
        exchange.worker(0).release(user);
        exchange.deliverAll();
        requireClean();
    }

    @Test
    void completesAReferenceWhoseCreationWasRefused() {
        UserReference user = exchange.worker(0).creations().create(exchange.incarnation(1), "Tensor");
        exchange.worker(0).whenCompleted(user, ready::add);
        CallException why = error(ErrorKind.UNKNOWN_ERROR, ErrorCode.MALFORMED_BODY, "cannot decode");
        exchange.worker(0).creations().creationFailed(user, why);
        assertThat(ready).containsExactly(Optional.of(why));
        assertThatExceptionOfType(CallException.class)
                .isThrownBy(() -> exchange.worker(0).requireUsable(user, "toHere()"))
                .isSameAs(why);
        exchange.deliverAll();
        exchange.worker(0).release(user);
        assertThat(exchange.wire).as("it was deleted once").isEmpty();
        requireClean();
    }

    @Test
    void saysThatACreationTimedOut() {
        UserReference user = exchange.worker(0).creations().create(exchange.incarnation(1), "Tensor");
        exchange.worker(0)
                .creations()
                .creationFailed(user, error(ErrorKind.TIMEOUT, ErrorCode.TIMED_OUT, "RPCErr:1:late"));
        assertThatExceptionOfType(CallException.class)
                .isThrownBy(() -> exchange.worker(0).forks().fork(user, exchange.incarnation(2)))
                .withMessage(
                        "RRef creation via rpc.remote() timed out, and it is possible that the RRef on the owner node"
                                + " does not exist.")
                .matches(e -> e.kind() == ErrorKind.TIMEOUT);
    }

    @Test
    void passesOnNoValueOfItsOwnWhoseCreationTimedOut() {
        OwnerReference own = exchange.worker(1).creations().createHere("Tensor");
        exchange.worker(1)
                .creations()
                .creationFailed(own, error(ErrorKind.TIMEOUT, ErrorCode.TIMED_OUT, "RPCErr:1:late"));
        assertThatExceptionOfType(CallException.class)
                .isThrownBy(() -> exchange.worker(1).forks().fork(own, exchange.incarnation(2)))
                .withMessageStartingWith("RRef creation via rpc.remote() timed out");
        exchange.worker(1).release(own);
        requireClean();
    }

    @Test
    void passesOnAValueOfItsOwnWhoseTimeoutCameBehindIt() {
        OwnerReference own = exchange.worker(1).creations().createHere("Tensor");
        exchange.worker(1).creations().finish(own.id(), value);
        exchange.worker(1)
                .creations()
                .creationFailed(own, error(ErrorKind.TIMEOUT, ErrorCode.TIMED_OUT, "RPCErr:1:late"));
        exchange.worker(1).forks().abandon(exchange.worker(1).forks().fork(own, exchange.incarnation(2)));
        exchange.worker(1).release(own);
        requireClean();
    }

    @Test
    void reportsWhoGotAForkOfAReferenceThatItsCreationFailed() {
        UserReference parent = exchange.worker(0).creations().create(exchange.incarnation(1), "Tensor");
        Arrival arrival = exchange.share(parent, 0, 2);
        assertThat(exchange.deliverAll()).containsExactly("RREF_FORK_REQUEST", "RREF_CHILD_ACCEPT");
        Recorded fetch = new Recorded();
        exchange.worker(1).fetch(parent.id(), 1, fetch);
        exchange.worker(0)
                .creations()
                .creationFailed(parent, error(ErrorKind.UNKNOWN_ERROR, ErrorCode.REFUSED, "not today"));
        exchange.deliverAll();
        assertThat(fetch.failure).hasMessage("not today");
        assertThat(fetch.failure.code()).isEqualTo(ErrorCode.REFUSED);
        exchange.worker(0).release(parent);
        exchange.worker(2).forks().release(arrival);
        exchange.deliverAll();
        requireClean();
    }

    @Test
    void takesBackAForkThatWasNotSent() {
        UserReference user = exchange.created(0, 1, value);
        ForkData data = exchange.worker(0).forks().fork(user, exchange.incarnation(2));
        exchange.worker(0).release(user);
        assertThat(exchange.wire).isEmpty();
        exchange.worker(0).forks().abandon(data);
        exchange.deliverAll();
        requireClean();
    }

    @Test
    void givesBackWhatARequestBroughtThatIsNotBegun() {
        UserReference user = exchange.created(0, 1, value);
        exchange.worker(2)
                .forks()
                .decline(exchange.worker(0).forks().fork(user, exchange.incarnation(2)), exchange.incarnation(0));
        exchange.worker(1)
                .forks()
                .decline(exchange.worker(0).forks().fork(user, exchange.incarnation(1)), exchange.incarnation(0));
        exchange.worker(0).release(user);
        OwnerReference own = exchange.worker(1).creations().own(new SimulatedValue(null), "Tensor");
        exchange.worker(2)
                .forks()
                .decline(exchange.worker(1).forks().fork(own, exchange.incarnation(2)), exchange.incarnation(1));
        exchange.worker(1)
                .forks()
                .decline(exchange.worker(1).forks().fork(own, exchange.incarnation(1)), exchange.incarnation(1));
        exchange.worker(1).release(own);
        exchange.deliverAll();
        assertThat(value.isClosed()).isTrue();
        requireClean();
    }

    @Test
    void endsGracefullyThoughHandlesAreOpen() {
        exchange.created(0, 1, value);
        List<DrainReport> reports = new ArrayList<>();
        exchange.worker(0).drain(Duration.ofSeconds(10), reports::add);
        exchange.worker(1).drain(Duration.ofSeconds(10), reports::add);
        assertThat(reports).isEmpty();
        exchange.deliverAll();
        assertThat(reports).hasSize(2).allMatch(DrainReport::complete);
        requireClean();
    }

    @Test
    void reportsWhatItWaitedForInVain() {
        UserReference user = exchange.created(0, 1, value);
        exchange.worker(0).forks().fork(user, exchange.incarnation(2));
        List<DrainReport> reports = new ArrayList<>();
        exchange.worker(0).drain(Duration.ofSeconds(10), reports::add);
        exchange.worker(1).drain(Duration.ofSeconds(10), reports::add);
        exchange.pass(Duration.ofSeconds(5));
        exchange.pass(Duration.ofSeconds(5));
        assertThat(reports).extracting(DrainReport::complete).containsOnly(false);
        assertThat(reports)
                .extracting(DrainReport::text)
                .containsExactlyInAnyOrder(
                        "Timed out waiting for pending UserRRefs to be confirmed by owner and parent."
                                + " Timed out waiting for pending OwnerRRefs to be deleted.",
                        "Timed out waiting for pending OwnerRRefs to be deleted.");
    }

    @Test
    void reportsLeaksWhenItIsClosed() {
        UserReference user = exchange.created(0, 1, value);
        Recorded fetch = new Recorded();
        exchange.worker(1).fetch(new RRefId(2, 0), 1, fetch);
        exchange.worker(1).close();
        assertThat(exchange.notified).containsExactly("OWNS " + user.fork() + " 0");
        assertThat(value.isClosed()).isTrue();
        assertThat(fetch.failure.code()).isEqualTo(ErrorCode.CLOSED);
    }

    static CallException error(ErrorKind kind, ErrorCode code, String text) {
        return new CallException(kind, code, MessageId.NONE, text);
    }

    @Test
    void reportsForksThatWereNotReturnedOrNotReportedWhenItIsClosed() {
        UserReference user = exchange.created(0, 1, value);
        ForkData passed = exchange.worker(0).forks().fork(user, exchange.incarnation(2));
        OwnerReference own = exchange.worker(0).creations().own(new SimulatedValue(null), "Tensor");
        exchange.worker(0).close();
        assertThat(exchange.notified).containsExactly("HOLDS " + user.fork() + " 1", "PASSES " + passed.fork() + " 2");
        assertThat(own.handles).isZero();
    }

    @Test
    void leavesAKeptValueToItsUsersWhenItIsClosed() {
        SimulatedValue kept = SimulatedValue.kept();
        UserReference user = exchange.created(0, 1, kept);
        exchange.worker(1).close();
        assertThat(exchange.notified).containsExactly("kept 1");
        assertThat(kept.isClosed()).isTrue();
        assertThat(kept.isForgotten()).isFalse();
        assertThat(user.id()).isNotNull();
    }

    @Test
    void forgetsAKeptValueWithoutOtherHandlesWhenItIsClosed() {
        SimulatedValue kept = SimulatedValue.kept();
        exchange.worker(1).creations().own(kept, "Tensor");
        exchange.worker(1).close();
        assertThat(exchange.notified).isEmpty();
        assertThat(kept.isForgotten()).isTrue();
    }
}
