package io.waybill.foreign;

import static io.waybill.foreign.ForeignNode.CALL;
import static io.waybill.foreign.ForeignNode.CULPRIT;
import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.event.CallEvent;
import io.waybill.api.event.CallEvents;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.event.CallListeners;
import io.waybill.testing.core.Waits;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Listeners for what happens to calls that misbehave, at the caller and at the callee. */
@Timeout(300)
class EventRowsTest {

    @TempDir
    private static Path directory;

    private static ForeignNode node;

    @BeforeAll
    static void join() throws IOException {
        node = new ForeignNode(directory);
        node.workers.handle(node.handlers, CALL, ForeignNode::echo);
    }

    @AfterAll
    static void leave() throws IOException {
        node.close();
    }

    static Stream<Row> listeners() {
        return Row.of(CallEvents.class).filter(row -> row.method().equals("onEvent"));
    }

    @ParameterizedTest
    @MethodSource("listeners")
    void costsNoCallAndIsDropped(Row row) throws Exception {
        runs(row, node.handlers);
        runs(row, node.callerHandlers);
    }

    /** Until it is dropped it may hold each call that reaches it, so it misbehaves for that of the row alone. */
    private static void onEvent(Culprit culprit, CallEvent event) {
        boolean isOfRow =
                event.kind() != CallEvent.Kind.ENDED && event.operation().equals(CALL);
        if (isOfRow) {
            culprit.in("onEvent", culprit, event);
        }
    }

    static Stream<Row> kinds() {
        return Row.of(CallEvents.class).filter(row -> row.method().equals("kinds"));
    }

    private record Choosing(Culprit culprit, AtomicInteger count) implements CallEvents {
        @Override
        public Set<CallEvent.Kind> kinds() {
            return culprit.in("kinds", CallEvents.super.kinds());
        }

        @Override
        public void onEvent(CallEvent event) {
            count.incrementAndGet();
        }
    }

    /** It is asked by the thread that adds it: that of its bundle. */
    @ParameterizedTest
    @MethodSource("kinds")
    void aListenerThatDoesNotSayItsKindsIsNotifiedOfAll(Row row) {
        Culprit culprit = new Culprit(row);
        Choosing listener = new Choosing(culprit, new AtomicInteger());
        HandlerRegistry at = node.handlers;
        long before = at.errors().of(CULPRIT.name());
        AtomicReference<CallListeners.Registration> added = new AtomicReference<>();
        Thread bundle = new Thread(
                () -> added.set(at.events()
                        .add(CULPRIT.toString(), listener, () -> at.errors().charge(CULPRIT))),
                "bundle of " + row);
        bundle.start();
        try {
            Waits.until(row + ": it misbehaves", () -> culprit.happened() > 0);
            node.othersAreServed(row);
        } finally {
            culprit.letGo();
        }
        Waits.until(row + ": it is added", () -> added.get() != null);
        node.othersAreServed(row);
        Waits.until(row + ": it is notified", () -> listener.count.get() >= 3);
        added.get().remove();
        ForeignNode.isCharged(row, at, before);
        assertThat(culprit.happened()).as("%s: calls of it", row).isEqualTo(1);
        node.everythingIsBack(row);
    }

    private static void runs(Row row, HandlerRegistry at) throws Exception {
        Culprit culprit = new Culprit(row);
        long before = at.errors().of(CULPRIT.name());
        CallListeners.Registration registration = at.events()
                .add(
                        CULPRIT.toString(),
                        event -> onEvent(culprit, event),
                        () -> at.errors().charge(CULPRIT));
        ForeignNode.Outcomes outcomes = new ForeignNode.Outcomes();
        try {
            node.run(row, culprit, CALL, outcomes, false);
            boolean isDropped = switch (row.how()) {
                case EXCEPTION, ERROR, UNREADABLE -> true; // it throws for each event
                default -> false;
            };
            if (isDropped) {
                Waits.until(row + ": it is dropped, and the reason is told", () -> {
                    node.callWithTensor(CALL).join().close();
                    return at.events().problem(CULPRIT.toString()).isPresent();
                });
            }
        } finally {
            culprit.letGo();
            registration.remove();
        }
        ForeignNode.isCharged(row, at, before);
        assertThat(at.events().problem(CULPRIT.toString()))
                .as("%s: after it was removed", row)
                .isEmpty();
    }
}
