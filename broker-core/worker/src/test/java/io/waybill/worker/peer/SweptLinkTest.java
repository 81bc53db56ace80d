package io.waybill.worker.peer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.MessageId;
import io.waybill.api.Request;
import io.waybill.api.Value;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.home.Membership;
import io.waybill.home.Peer;
import io.waybill.host.ForwardingClock;
import io.waybill.host.Host;
import io.waybill.worker.Worker;
import io.waybill.worker.Workers;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A peer that ends, and whose calls are failed, while another call to it is on its way into the table of calls in flight. */
@Timeout(120)
class SweptLinkTest {

    @TempDir
    private Path directory;

    private final AtomicReference<Runnable> beforeClaim = new AtomicReference<>();

    /** Its wall clock is read after a link was found open, and before a call over it is claimed. */
    private Host host() {
        Host real = Host.real();
        return real.withClock(new ForwardingClock(real.clock()) {
            @Override
            public long wallNsAt(long bootNs) {
                Runnable once = beforeClaim.getAndSet(null);
                if (once != null) {
                    once.run();
                }
                return super.wallNsAt(bootNs);
            }
        });
    }

    @Test
    void failsACallThatWasClaimedBehindIt() throws Exception {
        try (Workers workers = new Workers(directory, host())) {
            HandlerRegistry handlers = workers.registry();
            workers.handle(handlers, "test.echo", (message, outbox) -> outbox.respond(Value.of(1)));
            workers.join("peer", handlers);
            Worker caller = workers.join("caller");
            Request request = Request.operation("peer", "test.echo").timeout(Duration.ofSeconds(2));
            caller.call(request).close();
            PeerLink link = Workers.linkTo(caller, "peer");
            Peer peer = peer(workers, "peer"); // which has not left in order
            beforeClaim.set(() -> {
                link.gone(peer);
                link.swept();
            });
            assertThatThrownBy(() -> caller.call(request).close())
                    .as("a call that no other thread completes")
                    .isInstanceOfSatisfying(
                            CallException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.WORKER_LOST));
            assertThat(caller.pendingCalls()).as("calls in flight").isZero();
        }
    }

    @Test
    void saysHowAPeerEndedAndWhichCallItLeft() throws Exception {
        try (Workers workers = new Workers(directory)) {
            Worker caller = workers.join("caller");
            List<Worker> joined = new ArrayList<>();
            for (String name : new String[] {"first", "second"}) {
                HandlerRegistry handlers = workers.registry();
                workers.handle(handlers, "test.echo", (message, outbox) -> outbox.respond(Value.of(1)));
                joined.add(workers.join(name, handlers));
                caller.call(Request.operation(name, "test.echo")).close();
            }
            PeerLink left = Workers.linkTo(caller, "first");
            PeerLink lost = Workers.linkTo(caller, "second");
            joined.get(0).close();
            left.gone(peer(workers, "first"));
            lost.gone(peer(workers, "second"));
            long id = MessageId.of(caller.info().id(), 7);
            String before = " before it responded to call " + MessageId.text(id);
            assertThat(CallErrors.ended(id, left)).hasMessage("worker " + left + " left" + before);
            assertThat(CallErrors.ended(id, lost))
                    .hasMessage("worker " + lost + " was lost: its process is gone," + before);
            assertThat(CallErrors.notReturned(id, left, 2_500_000))
                    .hasMessage("worker " + left + " left" + before + ", and did not return within 2.5 ms");
            assertThat(CallErrors.timedOut(id, 1_500_000_000, left.toString()))
                    .hasMessageContaining("(1500 ms)")
                    .hasMessageEndingWith("call " + MessageId.text(id) + " to " + left);
        }
    }

    private static Peer peer(Workers workers, String name) throws IOException {
        try (Membership membership = new Membership(workers.home)) {
            return membership.find(name).orElseThrow();
        }
    }
}
