package io.waybill.worker.serve;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.CallException;
import io.waybill.api.Request;
import io.waybill.api.Value;
import io.waybill.api.handler.MessageHandler;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.journal.JournalQueue;
import io.waybill.journal.read.QueueReader;
import io.waybill.journal.read.QueueReader.Step;
import io.waybill.wire.RecordView;
import io.waybill.worker.Worker;
import io.waybill.worker.Workers;
import java.io.IOException;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** When a handler began is on record in its response. */
@Timeout(value = 30, unit = TimeUnit.SECONDS)
class BegunTest {

    private static final String OPERATION = "test.work";

    @TempDir
    Path directory;

    private long beganNs;
    private Workers workers;

    @BeforeEach
    void open() throws IOException {
        workers = new Workers(directory);
    }

    private final MessageHandler handler = (message, outbox) -> {
        beganNs = workers.host.clock().wallNs();
        outbox.respond(Value.of(1));
    };

    /** The begin that the one response says; its time of sending in the second place. */
    private long[] respond(HandlerRegistry registry) throws IOException {
        Worker callee = workers.join("callee", registry);
        Worker caller = workers.join("caller");
        try {
            caller.call(Request.operation("callee", OPERATION)).close();
        } catch (CallException e) {
            assertThat(e.code().name()).isIn("HANDLER_FAILED", "UNKNOWN_OPERATION");
        }
        Path responses = JournalQueue.RESPONSES.in(callee.directory().path());
        try (QueueReader reader = QueueReader.open(responses, workers.host.files(), Workers.SETTINGS.journal())) {
            assertThat(reader.next()).isEqualTo(Step.RECORD);
            RecordView record = reader.record();
            return new long[] {record.begunNs(), record.sentNs()};
        } finally {
            workers.close();
        }
    }

    @Test
    void isOnRecordWhenAThreadOfTheBundleRanIt() throws IOException {
        HandlerRegistry registry = workers.registry();
        workers.handle(registry, OPERATION, handler);

        long[] response = respond(registry);

        assertThat(response[0]).isPositive().isLessThanOrEqualTo(beganNs);
        assertThat(response[1]).isGreaterThanOrEqualTo(beganNs);
    }

    @Test
    void isOnRecordWhenItFailed() throws IOException {
        HandlerRegistry registry = workers.registry();
        workers.handle(registry, OPERATION, (message, outbox) -> {
            beganNs = workers.host.clock().wallNs();
            throw new IllegalStateException("no");
        });

        assertThat(respond(registry)[0]).isPositive().isLessThanOrEqualTo(beganNs);
    }

    @Test
    void isNotAskedForOnThePoller() throws IOException {
        HandlerRegistry registry = workers.registry();
        workers.handleOnPoller(registry, OPERATION, handler);

        assertThat(respond(registry)[0]).isZero();
    }

    @Test
    void isNoneWhenThereWasNoHandler() throws IOException {
        assertThat(respond(workers.registry())[0]).isZero();
    }
}
