package io.waybill.osgi.log;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.osgi.service.log.FormatterLogger;
import org.osgi.service.log.Logger;

class ServiceLogTest {

    private final ch.qos.logback.classic.Logger target =
            (ch.qos.logback.classic.Logger) org.slf4j.LoggerFactory.getLogger("service-log-test");
    private final ListAppender<ILoggingEvent> written = new ListAppender<>();
    private final Logger log = new ServiceLog().getLogger("service-log-test");

    @BeforeEach
    void listen() {
        target.setAdditive(false);
        target.setLevel(Level.INFO);
        written.start();
        target.addAppender(written);
    }

    @AfterEach
    void stopListening() {
        target.detachAppender(written);
    }

    @Test
    void passesTextsAndCausesOn() {
        IllegalStateException cause = new IllegalStateException("expected by this test");
        log.error("one {}", 1);
        log.warn("two {} {}", 1, 2);
        log.info("three {} {} {}", 1, 2, 3);
        log.error("four", cause);

        assertThat(written.list)
                .extracting(ILoggingEvent::getFormattedMessage)
                .containsExactly("one 1", "two 1 2", "three 1 2 3", "four");
        assertThat(written.list.get(3).getThrowableProxy().getMessage()).isEqualTo("expected by this test");
    }

    @Test
    void leavesOutWhatIsNotWanted() {
        log.debug("unwanted");
        log.trace(l -> l.trace("unwanted"));
        assertThat(written.list).isEmpty();
        assertThat(log.isDebugEnabled()).isFalse();
        assertThat(log.isErrorEnabled()).isTrue();
    }

    @Test
    void formatsForAFormatterLogger() {
        new ServiceLog().getLogger("service-log-test", FormatterLogger.class).error("%d of %s", 1, "two");
        assertThat(written.list).extracting(ILoggingEvent::getFormattedMessage).containsExactly("1 of two");
    }

    @Test
    void refusesOtherLoggers() {
        interface Other extends Logger {}
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new ServiceLog().getLogger("service-log-test", Other.class));
    }
}
