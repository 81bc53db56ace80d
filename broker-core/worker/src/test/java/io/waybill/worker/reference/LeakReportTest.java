package io.waybill.worker.reference;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.waybill.api.Invocation;
import io.waybill.api.RRef;
import io.waybill.api.Value;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.rref.id.ForkId;
import io.waybill.rref.id.RRefId;
import io.waybill.rref.status.Holder;
import io.waybill.rref.status.ReferenceStatus;
import io.waybill.worker.Worker;
import io.waybill.worker.Workers;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.slf4j.LoggerFactory;

/** What is said of references when their worker closes. */
@Timeout(60)
class LeakReportTest {

    private final Logger log = (Logger) LoggerFactory.getLogger(LeakReport.class);
    private final ListAppender<ILoggingEvent> written = new ListAppender<>();
    private final ConcurrentLinkedQueue<RRef> taken = new ConcurrentLinkedQueue<>();

    @TempDir
    private Path directory;

    @BeforeEach
    void read() {
        written.start();
        log.addAppender(written);
    }

    @AfterEach
    void readNoMore() {
        log.detachAppender(written);
    }

    private List<String> lines() {
        return written.list.stream().map(ILoggingEvent::getFormattedMessage).toList();
    }

    private HandlerRegistry taking(Workers workers) {
        HandlerRegistry handlers = workers.registry();
        workers.handle(handlers, "SCRIPT_CALL", (message, outbox) -> {
            taken.add(((Value.OfRRef) message.invocation().positional().get(0))
                    .value()
                    .retain());
            outbox.respond(Value.NONE);
        });
        return handlers;
    }

    @Test
    void namesWhatIsLeftAndWhereItIsAfterAShutdownInVain() throws IOException {
        try (Workers workers = new Workers(directory)) {
            Worker owner = workers.join("owner");
            Worker user = workers.join("user", taking(workers));
            RRef own = owner.rpc().rref(Value.of(7));
            Invocation take = new Invocation("test::take", List.of(Value.of(own)), Map.of());
            owner.rpc().rpcSync("user", take).close();
            own.close();
            RRef there = taken.remove();

            String left = owner.rpc().shutdown(Duration.ofMillis(100));
            assertThat(left)
                    .startsWith("Timed out waiting for pending OwnerRRefs to be deleted. Left: ")
                    .contains("ownerRRefs=1, forks=1");
            assertThat(owner.rpc().debugInfo()).containsEntry("num_owner_rrefs", "1");
            owner.close();
            assertThat(lines())
                    .singleElement()
                    .asString()
                    .matches("Leaking RRef GloballyUniqueId\\(created_on=0, local_id=0\\) with fork Id"
                            + " GloballyUniqueId\\(created_on=0, local_id=1\\), which WorkerInfo\\(id=1, name=user\\) has:"
                            + " its value goes with this worker");
            written.list.clear();
            assertThat(there.isOwner()).isFalse();
            user.close();
            assertThat(lines())
                    .singleElement()
                    .asString()
                    .startsWith("Leaking RRef GloballyUniqueId(created_on=0, local_id=0) with fork Id ")
                    .contains(", which this worker has, with 1 handles open: its value is at ");
        }
    }

    @Test
    void saysNothingWhenEverythingWasGivenBack() throws IOException {
        try (Workers workers = new Workers(directory)) {
            Worker owner = workers.join("owner");
            Worker user = workers.join("user", taking(workers));
            RRef own = owner.rpc().rref(Value.of(7));
            Invocation take = new Invocation("test::take", List.of(Value.of(own)), Map.of());
            owner.rpc().rpcSync("user", take).close();
            own.close();
            assertThat(user.rpc().shutdown(Duration.ofSeconds(20))).isEmpty(); // gives back what it took
            assertThat(owner.rpc().shutdown(Duration.ofSeconds(20))).isEmpty();
        }
        assertThat(lines()).isEmpty();
    }

    @Test
    void countsTheRestBehindAHundredLines() {
        LeakReport report = new LeakReport();
        for (int i = 0; i < 107; i++) {
            ForkId fork = new ForkId(2, i);
            Holder to = new Holder(3, 1);
            report.add(
                    new ReferenceStatus(
                            ReferenceStatus.Part.PASSES, new RRefId(1, 5), fork, to, "pending", 1, false, "Any"),
                    "WorkerInfo(id=3, name=c)");
        }
        report.end();
        assertThat(lines()).hasSize(101).last().isEqualTo("7 more references were not given back");
        assertThat(lines().get(0))
                .isEqualTo("Leaking RRef GloballyUniqueId(created_on=1, local_id=5) with fork Id"
                        + " GloballyUniqueId(created_on=2, local_id=0), which this worker made for WorkerInfo(id=3, name=c)"
                        + " and has not heard of");
    }
}
