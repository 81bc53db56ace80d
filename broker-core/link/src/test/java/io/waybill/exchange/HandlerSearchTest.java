package io.waybill.exchange;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.ErrorCode;
import io.waybill.api.MessageType;
import io.waybill.api.handler.Outbox;
import io.waybill.api.intercept.HandlerInterceptor;
import io.waybill.api.intercept.InterceptedMessage;
import io.waybill.dispatch.Drained;
import io.waybill.dispatch.HandlerEntry;
import io.waybill.dispatch.HandlerKey;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.HandlerSpec;
import io.waybill.dispatch.Outcome;
import io.waybill.dispatch.Provider;
import io.waybill.exchange.HandlerSearch.Found;
import io.waybill.handling.Failure;
import io.waybill.handling.Route;
import io.waybill.host.Host;
import io.waybill.intercept.InterceptorSpec;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The search for the handler of a request, without a worker: which request is served, which waits, and which is refused. */
@Timeout(120)
class HandlerSearchTest {

    private static final MessageType TYPE = MessageType.userRequest(0x42);
    private static final MessageType CONTROL = MessageType.of(Route.CONTROL_CALL);
    private static final Provider AROUND = new Provider("around", "1.0.0");

    private final ExchangeRoom room = new ExchangeRoom(Host.real().threads());
    private final HandlerSearch search = new HandlerSearch(room.lookup, room.context);

    @AfterEach
    void close() {
        room.close();
    }

    /** A request that searches, and notes its refusal. */
    private final class Seeker implements HandlerSearch.Seeker {

        private final Exchange exchange;
        private boolean hasThread = true;
        private Runnable beforeBegin = () -> {};
        private Failure mustNot;
        private HandlerEntry outer;
        private String refused = "";

        Seeker(OuterRequest request) {
            exchange = new Exchange(room.context, room.inner, request, request);
        }

        @Override
        public Exchange exchange() {
            return exchange;
        }

        @Override
        public Failure refusal(HandlerEntry by) {
            return mustNot;
        }

        @Override
        public boolean hasThread(HandlerEntry by) {
            Runnable once = beforeBegin;
            beforeBegin = () -> {};
            once.run();
            return hasThread;
        }

        @Override
        public HandlerEntry outer() {
            return outer;
        }

        @Override
        public void refuse(Failure why) {
            refused = why.code() + ": " + why.toException(0).getMessage();
        }
    }

    private Seeker seeker() {
        return new Seeker(new OuterRequest(TYPE));
    }

    private Seeker named(MessageType type, String name) {
        return new Seeker(OuterRequest.named(type, name));
    }

    private HandlerRegistry.Registration add(HandlerRegistry registry, HandlerKey key) {
        return registry.add(HandlerSpec.of(key, (message, outbox) -> {}, ExchangeRoom.ACME, room.executor));
    }

    private void intercept() {
        room.interceptors.add(InterceptorSpec.ofAll(
                new HandlerInterceptor() {
                    @Override
                    public void before(InterceptedMessage message, Outbox outbox) {
                        // it only counts
                    }
                },
                AROUND));
    }

    private long intercepted() {
        return room.interceptors.statuses().get(0).inFlight();
    }

    private void assertFinds(Seeker seeker, HandlerRegistry registry, HandlerKey key) {
        HandlerEntry expected = registry.table().forKey(key);
        assertThat(search.find(seeker)).as("the search of %s", key.text()).isEqualTo(Found.COUNTED);
        assertThat(seeker.exchange.entry()).as("the handler of %s", key.text()).isSameAs(expected);
        assertThat(expected.inFlight()).as("requests in flight there").isEqualTo(1);
        assertThat(seeker.refused).isEmpty();
    }

    @Test
    void findsTheWorkersOwnHandlersAndThoseOfBundles() {
        HandlerKey deletes = new HandlerKey.OfType(MessageType.RREF_USER_DELETE);
        HandlerKey fetches = new HandlerKey.OfType(MessageType.SCRIPT_RREF_FETCH_CALL);
        HandlerKey lists = new HandlerKey.OfControl("own.list");
        HandlerKey installs = new HandlerKey.OfControl("bundle.install");
        HandlerKey echoes = new HandlerKey.OfOperation("own.list"); // of a bundle, in spite of its name
        for (HandlerKey key : List.of(deletes, fetches, lists)) {
            add(room.own, key);
            add(room.registry, key); // which must not get what is the worker's own
        }
        add(room.registry, installs);
        add(room.own, echoes);
        add(room.registry, echoes);
        assertFinds(new Seeker(new OuterRequest(MessageType.RREF_USER_DELETE)), room.own, deletes);
        assertFinds(new Seeker(new OuterRequest(MessageType.SCRIPT_RREF_FETCH_CALL)), room.own, fetches);
        assertFinds(named(CONTROL, "own.list"), room.own, lists);
        assertFinds(named(CONTROL, "bundle.install"), room.registry, installs);
        assertFinds(named(MessageType.NAMED_CALL, "own.list"), room.registry, echoes);
    }

    @Test
    void refusesWhatNoHandlerWillEverGet() {
        add(room.registry, new HandlerKey.OfOperation("text.echo"));
        Seeker unknown = named(MessageType.NAMED_CALL, "text.ecko");
        assertThat(search.find(unknown))
                .as("the search of an unknown operation")
                .isEqualTo(Found.REFUSED);
        assertThat(unknown.refused).startsWith("UNKNOWN_OPERATION: ").contains("text.ecko", "text.echo");
        room.registry.expectMore(); // one of them may still come
        Seeker early = named(MessageType.NAMED_CALL, "text.ecko");
        assertThat(search.find(early))
                .as("the search before all handlers are there")
                .isEqualTo(Found.WAITS);
        Seeker nameless = new Seeker(new OuterRequest(MessageType.NAMED_CALL, (byte) 9, (byte) 0, (byte) 'x'));
        assertThat(search.find(nameless))
                .as("the search of a call without a name")
                .isEqualTo(Found.REFUSED);
        assertThat(nameless.refused).startsWith("MALFORMED_BODY: ").contains("begins with the operation's name");
    }

    @Test
    void refusesWhatItsHandlerMustNotRun() {
        add(room.registry, new HandlerKey.OfType(TYPE));
        HandlerEntry entry = room.entry(TYPE);
        entry.outOfService(true);
        Seeker stuck = seeker();
        stuck.hasThread = false; // it need not wait for one to be refused
        assertThat(search.find(stuck)).as("the search out of service").isEqualTo(Found.REFUSED);
        assertThat(stuck.refused).startsWith("HANDLER_STUCK: ");
        Seeker begunBefore = seeker();
        begunBefore.mustNot = Failure.of(ErrorCode.WORKER_LOST, ExchangeRoom.WORKER, "begun before");
        assertThat(search.find(begunBefore)).isEqualTo(Found.REFUSED);
        assertThat(begunBefore.refused).as("its own reason").startsWith("WORKER_LOST: ");
        assertThat(entry.inFlight()).as("requests in flight").isZero();
        entry.outOfService(false);
        assertThat(search.find(seeker()))
                .as("the search when it is back in service")
                .isEqualTo(Found.COUNTED);
    }

    @Test
    void countsNothingWhileItWaitsForAThreadOrAnInterceptor() {
        add(room.registry, new HandlerKey.OfType(TYPE));
        intercept();
        Seeker waits = seeker();
        waits.hasThread = false;
        assertThat(search.find(waits)).as("the search without a thread").isEqualTo(Found.WAITS);
        assertThat(intercepted()).as("requests at the interceptor").isZero();
        waits.hasThread = true;
        room.interceptors.replacing(AROUND.name());
        assertThat(search.find(waits))
                .as("the search while an interceptor is replaced")
                .isEqualTo(Found.WAITS);
        assertThat(room.entry(TYPE).inFlight()).as("requests at the handler").isZero();
        assertThat(waits.exchange.entry()).as("the handler that has counted it").isNull();
        intercept();
        room.interceptors.replaced(AROUND.name());
        assertThat(search.find(waits)).as("the search when it is replaced").isEqualTo(Found.COUNTED);
        assertThat(room.entry(TYPE).inFlight()).as("requests at the handler").isEqualTo(1);
        assertThat(intercepted()).as("requests at the interceptor").isEqualTo(1);
        assertThat(waits.refused).isEmpty();
    }

    @Test
    void waitsForAHandlerThatWasRemovedForAsLongAsRequestsPark() {
        add(room.registry, new HandlerKey.OfType(TYPE)).withdraw(Duration.ZERO);
        Seeker waits = seeker();
        room.clock.advance(ExchangeRoom.PARKING);
        assertThat(search.find(waits)).as("the search at the limit").isEqualTo(Found.WAITS);
        assertThat(waits.refused).isEmpty();
        room.clock.advance(Duration.ofNanos(1));
        assertThat(search.find(waits)).as("the search behind the limit").isEqualTo(Found.REFUSED);
        assertThat(waits.refused).startsWith("UNKNOWN_TYPE: ");
    }

    @Test
    void goesOnFromAHandlerThatIsWithdrawnMeanwhile() {
        intercept();
        HandlerKey key = new HandlerKey.OfType(TYPE);
        HandlerRegistry.Registration first = add(room.registry, key);
        HandlerRegistry.Registration second = add(room.registry, key);
        Seeker replaced = seeker();
        replaced.beforeBegin = () -> first.withdraw(Duration.ZERO);
        assertThat(search.find(replaced)).isEqualTo(Found.COUNTED);
        assertThat(replaced.exchange.entry())
                .as("the handler that has counted it")
                .isSameAs(second.entries().get(0));
        assertThat(first.entries().get(0).inFlight())
                .as("requests at the withdrawn handler")
                .isZero();
        assertThat(intercepted()).as("requests at the interceptor").isEqualTo(1);

        Seeker removed = seeker();
        removed.beforeBegin = () -> room.registry.takeOut(List.of(second));
        assertThat(search.find(removed))
                .as("the search when no handler is left")
                .isEqualTo(Found.WAITS);
        assertThat(second.entries().get(0).inFlight())
                .as("requests at the last handler")
                .isEqualTo(1);
        assertThat(intercepted()).as("requests at the interceptor").isEqualTo(1);
    }

    @Test
    void beginsAtALeavingHandlerForARequestThatMustNotOutliveIt() {
        intercept();
        HandlerRegistry.Registration leaves = add(room.registry, new HandlerKey.OfType(TYPE));
        HandlerEntry entry = leaves.entries().get(0);
        assertThat(search.find(seeker())).isEqualTo(Found.COUNTED);
        room.registry.takeOut(List.of(leaves));
        assertThat(search.find(seeker())).as("the search of another request").isEqualTo(Found.WAITS);
        Seeker inside = seeker();
        inside.outer = entry;
        assertThat(search.find(inside)).as("the search of a request inside it").isEqualTo(Found.COUNTED);
        assertThat(inside.exchange.entry()).isSameAs(entry);
        assertThat(entry.inFlight()).as("requests for which the drain waits").isEqualTo(2);

        entry.end(Outcome.DONE);
        entry.end(Outcome.DONE);
        assertThat(leaves.withdraw(Duration.ZERO)).isEqualTo(Drained.DRAINED);
        long before = intercepted();
        Seeker late = seeker();
        late.outer = entry;
        assertThat(search.find(late)).as("the search when it has left").isEqualTo(Found.WAITS);
        assertThat(entry.inFlight()).as("requests at the handler that has left").isZero();
        assertThat(intercepted()).as("requests at the interceptor").isEqualTo(before);
    }
}
