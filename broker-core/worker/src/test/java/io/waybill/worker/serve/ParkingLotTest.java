package io.waybill.worker.serve;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.MessageId;
import io.waybill.api.Value;
import io.waybill.api.policy.Decision;
import io.waybill.dispatch.AccessPolicies;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.HandlerStatus;
import io.waybill.dispatch.Provider;
import io.waybill.worker.poll.Polled;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Requests that wait for a handler or an access policy, and how they leave. */
@Timeout(60)
class ParkingLotTest {

    private static final Provider GUARD = new Provider("guard", "1.0.0");
    private static final int MAX = ServingRoom.PARKING.maxMessages();
    private static final Duration LIMIT = Duration.ofNanos(ServingRoom.PARKING.maxDurationNs());
    private static final Duration MOMENT = Duration.ofMillis(20); // after which expired requests are looked for again

    private final List<String> begun = new ArrayList<>(); // ids, in order
    private ServingRoom room;

    @BeforeEach
    void open(@TempDir Path directory) throws Exception {
        room = new ServingRoom(directory);
    }

    @AfterEach
    void close() throws IOException {
        room.close();
    }

    /** Publishes a handler, and withdraws it. */
    private void handlerLeaves() {
        room.handleInto(begun).withdraw(Duration.ZERO);
    }

    /** Parks a request for the handler. Returns its id. */
    private String park() throws Exception {
        PeerRequest request = room.read();
        String id = ServingRoom.id(request);
        room.parking.park(request, ServingRoom.KEY, null);
        return id;
    }

    /** Parks a request for an access policy. Returns its id. */
    private String parkUndecided() throws Exception {
        PeerRequest request = room.read();
        String id = ServingRoom.id(request);
        room.parking.park(request, AccessGate.UNDECIDED, null);
        return id;
    }

    private int unpark() {
        return room.parking.unpark(room.dispatcher);
    }

    private HandlerStatus status() {
        return room.registry.statuses().get(0);
    }

    private void isAtRest() {
        assertThat(room.parking.isEmpty()).as("whether no request waits").isTrue();
        assertThat(room.open.count()).as("requests in flight").isZero();
        assertThat(room.pool.held()).as("exchanges in use").isLessThanOrEqualTo(1);
    }

    @Test
    void aRequestThatWaitsUsesNoExchange() throws Exception {
        handlerLeaves();
        park();
        assertThat(room.parking.isEmpty()).as("whether no request waits").isFalse();
        assertThat(room.parking.has(ServingRoom.KEY)).isTrue();
        assertThat(room.open.count()).as("requests in flight").isZero();
        assertThat(room.pool.held()).as("exchanges in use").isZero();
        assertThat(status().parked()).as("requests that wait, in the status").isEqualTo(1);
        assertThat(room.responded()).as("responses on record").isEmpty();
    }

    @Test
    void aRequestIsFoundByItsIdWhileItWaits() throws Exception {
        handlerLeaves();
        PeerRequest request = room.read();
        long id = request.view().id();
        room.parking.park(request, ServingRoom.KEY, null);
        assertThat(room.parking.hasId(id)).as("while it waits").isTrue();
        room.handleInto(begun);
        unpark();
        assertThat(room.parking.hasId(id)).as("after it left").isFalse();
    }

    @Test
    void allRequestsAreServedInOrderOfArrivalWhenTheHandlerReturns() throws Exception {
        handlerLeaves();
        List<String> ids = List.of(park(), park(), park());
        assertThat(unpark()).as("requests that left while the handler is away").isZero();
        room.handleInto(begun);
        assertThat(unpark()).as("requests that left").isEqualTo(3);
        assertThat(begun).as("requests that the handler ran").containsExactlyElementsOf(ids);
        assertThat(room.responded()).as("responses on record").containsExactlyElementsOf(ids);
        assertThat(status().parked()).as("requests that wait, in the status").isZero();
        isAtRest();
        assertThat(unpark()).as("requests that left once more").isZero();
    }

    @Test
    void aRequestBeyondTheLimitIsRefusedAndTheOthersWait() throws Exception {
        handlerLeaves();
        for (int i = 0; i < MAX; i++) {
            park();
        }
        String id = park();
        assertThat(room.responded()).as("responses on record").containsExactly(id + " HANDLER_GONE");
        assertThat(room.errors().get(0)).contains(MAX + " requests, the most allowed, wait for handlers already");
        assertThat(room.parked.size()).as("requests that wait").isEqualTo(MAX);
        assertThat(room.open.count()).as("requests in flight").isZero();
    }

    @Test
    void theLimitCountsRequestsOfAllKeys() throws Exception {
        room.registry.policies().require(GUARD);
        handlerLeaves();
        park();
        parkUndecided();
        park();
        String id = parkUndecided();
        assertThat(room.responded()).as("responses on record").containsExactly(id + " ACCESS_DENIED");
        assertThat(room.errors().get(0)).contains("guard 1.0.0 is away, and too many requests wait already");
        assertThat(room.parked.size()).as("requests that wait").isEqualTo(MAX);
    }

    @Test
    void aRequestThatHadLeftReturnsToItsPlaceAlsoBeyondTheLimit() throws Exception {
        handlerLeaves();
        String first = park();
        park();
        ParkedRequests.Parked left = room.parked.first(ServingRoom.KEY);
        room.parked.removeFirst(ServingRoom.KEY);
        PeerRequest again = room.dispatcher.readAgain(room.link, left.index(), left.delivered());
        park();
        park();
        room.parking.park(again, ServingRoom.KEY, left);
        assertThat(room.responded()).as("responses on record").isEmpty();
        assertThat(room.parked.size()).as("requests that wait").isEqualTo(MAX + 1);
        assertThat(MessageId.text(room.parked.first(ServingRoom.KEY).id()))
                .as("the first one")
                .isEqualTo(first);
    }

    @Test
    void aRequestIsRefusedWhenTheHandlerIsAwayForTooLong() throws Exception {
        handlerLeaves();
        String early = park();
        room.clock.advance(LIMIT.dividedBy(2));
        String late = park();
        room.clock.advance(LIMIT.dividedBy(2));
        assertThat(unpark()).as("requests that left at the limit").isZero();
        room.clock.advance(MOMENT);
        assertThat(unpark()).as("requests that left beyond the limit").isEqualTo(1);
        assertThat(room.responded()).as("responses on record").containsExactly(early + " HANDLER_GONE");
        assertThat(room.errors().get(0)).contains("none came within " + LIMIT.toMillis() + " ms");
        room.clock.advance(LIMIT);
        assertThat(unpark()).as("requests that left later").isEqualTo(1);
        assertThat(room.responded())
                .as("responses on record")
                .containsExactly(early + " HANDLER_GONE", late + " HANDLER_GONE");
        isAtRest();
    }

    @Test
    void theAgeOfARequestCountsFromItsFirstParking() throws Exception {
        handlerLeaves();
        park();
        room.clock.advance(LIMIT);
        ParkedRequests.Parked left = room.parked.first(ServingRoom.KEY);
        room.parked.removeFirst(ServingRoom.KEY);
        PeerRequest again = room.dispatcher.readAgain(room.link, left.index(), left.delivered());
        room.parking.park(again, ServingRoom.KEY, left);
        room.clock.advance(MOMENT);
        assertThat(unpark()).as("requests that left").isEqualTo(1);
        isAtRest();
    }

    @Test
    void aRequestIsRefusedWhenTheHandlerThatWasExpectedDoesNotCome() throws Exception {
        room.registry.expectMore();
        String id = park();
        assertThat(unpark())
                .as("requests that left while handlers are expected")
                .isZero();
        room.registry.expectNoMore();
        assertThat(unpark()).as("requests that left").isEqualTo(1);
        assertThat(room.responded()).as("responses on record").containsExactly(id + " UNKNOWN_TYPE");
        isAtRest();
    }

    @Test
    void requestsWaitOnWhenTheHandlerLeavesWhileTheyAreServed() throws Exception {
        handlerLeaves();
        String first = park();
        String second = park();
        List<HandlerRegistry.Registration> stay = new ArrayList<>();
        stay.add(room.handle((message, outbox) -> {
            begun.add(MessageId.text(message.id()));
            outbox.respond(Value.NONE);
            room.registry.takeOut(stay);
        }));
        assertThat(unpark()).as("requests that left").isEqualTo(1);
        assertThat(unpark()).as("requests that left after the handler").isZero();
        assertThat(begun).as("requests that the handler ran").containsExactly(first);
        assertThat(room.parked.size()).as("requests that wait").isEqualTo(1);
        room.handleInto(begun);
        assertThat(unpark()).as("requests that left when a handler came").isEqualTo(1);
        assertThat(begun).as("requests that handlers ran").containsExactly(first, second);
        isAtRest();
    }

    /** A thread that has lost the permit touches nothing more; the next holder continues the search. */
    @Test
    void aSearchThatLosesThePermitIsContinuedByTheNextHolder() throws Exception {
        handlerLeaves();
        String first = park();
        String second = park();
        room.handle((message, outbox) -> {
            begun.add(MessageId.text(message.id()));
            outbox.respond(Value.NONE);
            Thread other = new Thread(room.permit::tryAcquire);
            other.start();
            try {
                other.join();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        });
        assertThat(unpark()).as("what a search returns without the permit").isEqualTo(Polled.PERMIT_LOST);
        assertThat(begun).as("requests that the handler ran").containsExactly(first);
        assertThat(room.parked.size()).as("requests that wait").isEqualTo(1);
        assertThat(room.permit.isMine()).isFalse();
        room.permit.release(); // by the other thread, which has ended
        assertThat(room.permit.tryAcquire()).isTrue();
        unpark();
        assertThat(begun).as("requests that the handler ran").containsExactly(first, second);
    }

    /** Such as one that found no thread, or no interceptor. */
    @Test
    void aRequestThatParksAfterASearchIsLookedForAtOnce() throws Exception {
        room.handleInto(begun);
        unpark();
        String id = park();
        assertThat(unpark()).as("requests that left").isEqualTo(1);
        assertThat(begun).as("requests that the handler ran").containsExactly(id);
    }

    @Test
    void requestsForAPolicyAreServedInOrderWhenItReturns() throws Exception {
        room.handleInto(begun);
        AccessPolicies.Registration policy = room.registry.policies().add(GUARD, request -> Decision.allow());
        policy.withdraw();
        List<String> ids = List.of(parkUndecided(), parkUndecided());
        assertThat(unpark()).as("requests that left while the policy is away").isZero();
        room.registry.policies().add(GUARD, request -> Decision.allow());
        room.parking.roomCame();
        assertThat(unpark()).as("requests that left").isEqualTo(2);
        assertThat(begun).as("requests that the handler ran").containsExactlyElementsOf(ids);
        isAtRest();
    }

    @Test
    void aRequestForAPolicyIsAskedAboutWhenItReturns() throws Exception {
        room.handleInto(begun);
        room.registry.policies().require(GUARD);
        String id = parkUndecided();
        room.registry.policies().add(GUARD, request -> Decision.deny("not you"));
        assertThat(unpark()).as("requests that left").isEqualTo(1);
        assertThat(room.responded()).as("responses on record").containsExactly(id + " ACCESS_DENIED");
        assertThat(begun).as("requests that the handler ran").isEmpty();
        isAtRest();
    }

    @Test
    void aRequestIsRefusedWhenThePolicyIsAwayForTooLong() throws Exception {
        room.handleInto(begun);
        room.registry.policies().require(GUARD);
        String id = parkUndecided();
        room.clock.advance(LIMIT);
        assertThat(unpark()).as("requests that left at the limit").isZero();
        room.clock.advance(MOMENT);
        assertThat(unpark()).as("requests that left beyond the limit").isEqualTo(1);
        assertThat(room.responded()).as("responses on record").containsExactly(id + " ACCESS_DENIED");
        assertThat(room.errors().get(0))
                .contains("guard 1.0.0 is away, and did not return within " + LIMIT.toMillis() + " ms");
        assertThat(begun).as("requests that the handler ran").isEmpty();
        isAtRest();
    }

    @Test
    void aRequestThatAPolicyAllowedWaitsForItsHandler() throws Exception {
        room.registry.policies().require(GUARD);
        handlerLeaves();
        String id = parkUndecided();
        room.registry.policies().add(GUARD, request -> Decision.allow());
        unpark();
        assertThat(room.parking.has(AccessGate.UNDECIDED))
                .as("whether it waits for a policy")
                .isFalse();
        assertThat(room.parking.has(ServingRoom.KEY))
                .as("whether it waits for its handler")
                .isTrue();
        room.handleInto(begun);
        unpark();
        assertThat(begun).as("requests that the handler ran").containsExactly(id);
        isAtRest();
    }
}
