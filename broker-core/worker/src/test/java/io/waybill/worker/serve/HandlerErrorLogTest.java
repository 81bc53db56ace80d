package io.waybill.worker.serve;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.waybill.api.CallException;
import io.waybill.api.MessageId;
import io.waybill.api.Request;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.worker.Worker;
import io.waybill.worker.Workers;
import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.slf4j.LoggerFactory;

/** What is logged of a handler that throws. */
@Timeout(60)
class HandlerErrorLogTest {

    private final Logger log = (Logger) LoggerFactory.getLogger(HandlerErrorLog.class);
    private final ListAppender<ILoggingEvent> written = new ListAppender<>();

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

    @Test
    void leadsFromTheLineToTheRecord() throws IOException {
        try (Workers workers = new Workers(directory)) {
            HandlerRegistry handlers = workers.registry();
            workers.handle(handlers, "text.broken", (message, outbox) -> {
                throw new IllegalStateException("planted");
            });
            workers.join("server", handlers);
            Worker caller = workers.join("caller");
            CallException failure = catchThrowableOfType(
                    CallException.class, () -> caller.call(Request.operation("server", "text.broken")));
            assertThat(written.list).singleElement().satisfies(event -> {
                assertThat(event.getFormattedMessage())
                        .contains("threw while handling text.broken, request " + MessageId.text(failure.messageId())
                                + " of caller (id " + caller.info().id() + ")");
                assertThat(event.getThrowableProxy().getMessage()).isEqualTo("planted");
            });
        }
    }
}
