package io.waybill.worker.serve;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.waybill.api.Value;
import io.waybill.dispatch.HandlerEntry;
import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.slf4j.LoggerFactory;

/** Errors of a handler that are counted, and the places among them that are logged, without a worker. */
@Timeout(60)
class LoggedPlacesTest {

    private static final int MAX_PLACES = 1000;

    @TempDir
    private Path directory;

    private final Logger logger = (Logger) LoggerFactory.getLogger(HandlerErrorLog.class);
    private final ListAppender<ILoggingEvent> written = new ListAppender<>();
    private ServingRoom room;
    private HandlerErrorLog log;
    private HandlerEntry entry;
    private PeerRequest request;

    @BeforeEach
    void open() throws Exception {
        room = new ServingRoom(directory);
        room.handle((message, outbox) -> outbox.respond(Value.NONE));
        entry = room.registry.table().forKey(ServingRoom.KEY);
        request = room.read();
        log = new HandlerErrorLog(room.registry.errors());
        written.start();
        logger.addAppender(written);
    }

    @AfterEach
    void close() throws IOException {
        logger.detachAppender(written);
        room.close();
    }

    /** Exception of a bundle, whose methods throw. */
    private static final class Unreadable extends RuntimeException {

        private static final long serialVersionUID = 1;

        @Override
        public String getMessage() {
            throw new IllegalStateException("no message");
        }

        @Override
        public StackTraceElement[] getStackTrace() {
            throw new IllegalStateException("no stack");
        }
    }

    private static RuntimeException thrownAt(int line) {
        RuntimeException error = new IllegalStateException("planted at " + line);
        error.setStackTrace(new StackTraceElement[] {new StackTraceElement("acme.Echo", "handle", "Echo.java", line)});
        return error;
    }

    private long counted() {
        return room.registry.errors().of(ServingRoom.ACME.name());
    }

    @Test
    void logsAPlaceOnceAndCountsEachErrorFromIt() {
        for (int i = 0; i < 5; i++) {
            log.threw(entry, request, thrownAt(10));
        }
        assertThat(written.list).as("one place").singleElement().satisfies(event -> {
            assertThat(event.getFormattedMessage())
                    .contains(ServingRoom.ACME.toString(), ServingRoom.KEY.text(), ServingRoom.id(request));
            assertThat(event.getThrowableProxy().getMessage()).isEqualTo("planted at 10");
        });
        assertThat(counted()).as("errors of the provider").isEqualTo(5);
    }

    @Test
    void logsAnotherPlaceOfTheSameHandlerAndAnotherErrorAtTheSamePlace() {
        RuntimeException other = new UnsupportedOperationException("planted");
        other.setStackTrace(thrownAt(10).getStackTrace());
        log.threw(entry, request, thrownAt(10));
        log.threw(entry, request, thrownAt(11));
        log.threw(entry, request, other);
        assertThat(written.list)
                .extracting(event -> event.getThrowableProxy().getMessage())
                .containsExactly("planted at 10", "planted at 11", "planted");
    }

    @Test
    void logsNoMorePlacesThanItsLimitAndCountsTheirErrors() {
        for (int line = 1; line <= MAX_PLACES + 100; line++) {
            log.threw(entry, request, thrownAt(line));
        }
        assertThat(written.list).as("places in the log").hasSize(MAX_PLACES);
        assertThat(counted()).as("errors of the provider").isEqualTo(MAX_PLACES + 100);
    }

    @Test
    void logsTheClassOfAnErrorThatCantBeRead() {
        log.threw(entry, request, new Unreadable());
        log.threw(entry, request, new Unreadable());
        assertThat(written.list)
                .singleElement()
                .satisfies(event ->
                        assertThat(event.getFormattedMessage()).contains(Unreadable.class.getName(), "can't be shown"));
        assertThat(counted()).isEqualTo(2);
    }

    @Test
    void logsAStorageThatWasNotGivenBackOnceAndAMissingResponseNever() {
        log.noResponse(entry);
        assertThat(written.list).as("a response is missing").isEmpty();
        log.notReleased(entry, thrownAt(10));
        log.notReleased(entry, thrownAt(10));
        assertThat(written.list)
                .singleElement()
                .satisfies(event -> assertThat(event.getFormattedMessage())
                        .contains("could not be given back", ServingRoom.KEY.text()));
        assertThat(counted()).as("each is an error of the provider").isEqualTo(3);
    }
}
