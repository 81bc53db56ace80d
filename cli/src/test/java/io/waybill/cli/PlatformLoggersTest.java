package io.waybill.cli;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.slf4j.LoggerFactory;

@Timeout(value = 60, unit = TimeUnit.SECONDS)
class PlatformLoggersTest {

    private static final String NAME = "org.acme.Logs";

    private final Logger target = (Logger) LoggerFactory.getLogger(NAME);
    private final ListAppender<ILoggingEvent> events = new ListAppender<>();

    @BeforeEach
    void listen() {
        target.setLevel(Level.INFO);
        target.setAdditive(false);
        events.start();
        target.addAppender(events);
    }

    @AfterEach
    void stop() {
        target.detachAppender(events);
        target.setAdditive(true);
        target.setLevel(null);
    }

    @Test
    void passesLevelsTextsAndCauses() {
        System.Logger logger = System.getLogger(NAME);
        Exception cause = new IllegalStateException("why");

        logger.log(System.Logger.Level.DEBUG, "not wanted");
        logger.log(System.Logger.Level.INFO, "it''s {0} of {1}", 1, "two");
        logger.log(System.Logger.Level.WARNING, "it's {plain}");
        logger.log(System.Logger.Level.ERROR, "failed", cause);
        logger.log(System.Logger.Level.OFF, "never");

        assertThat(logger.isLoggable(System.Logger.Level.DEBUG)).isFalse();
        assertThat(events.list)
                .extracting(event -> event.getLevel() + " " + event.getFormattedMessage())
                .containsExactly("INFO it's 1 of two", "WARN it's {plain}", "ERROR failed");
        assertThat(events.list.get(2).getThrowableProxy().getMessage()).isEqualTo("why");
    }

    @Test
    void logsNoExits() {
        assertThat(System.getLogger("java.lang.Runtime").isLoggable(System.Logger.Level.ERROR))
                .isFalse();
    }
}
