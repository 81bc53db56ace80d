package io.waybill.osgi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.AppenderBase;
import io.waybill.host.Host;
import io.waybill.osgi.jar.BundleRefusedException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.slf4j.LoggerFactory;

/** Steps of bundles that take long, and that do not return. */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
class BoundedStepTest {

    private static final Duration LONG = Duration.ofMinutes(10);

    private final BoundedStep bounded = new BoundedStep(Host.real().threads());
    private final Logger log = (Logger) LoggerFactory.getLogger(BoundedStep.class);
    private final CompletableFuture<String> logged = new CompletableFuture<>();
    private final AppenderBase<ILoggingEvent> appender = new AppenderBase<>() {
        @Override
        protected void append(ILoggingEvent event) {
            logged.complete(event.getFormattedMessage());
        }
    };
    private Level before;

    @BeforeEach
    void listen() {
        before = log.getLevel();
        log.setLevel(Level.INFO);
        appender.start();
        log.addAppender(appender);
    }

    @AfterEach
    void stopListening() {
        log.detachAppender(appender);
        log.setLevel(before);
    }

    @Test
    void saysWhatIsWaitedForWhileItIs() throws Exception {
        CompletableFuture<String> seen = new CompletableFuture<>();
        BoundedStep.Ended ended =
                bounded.run("start org.acme.slow", LONG, () -> seen.complete(logged.get(30, TimeUnit.SECONDS)));

        assertThat(ended).isEqualTo(BoundedStep.Ended.IN_TIME);
        assertThat(seen.get()).isEqualTo("Waiting for: start org.acme.slow; it has up to 600 s");
    }

    /** An exception of a bundle's own class throws from its own methods, too. */
    @Test
    void namesAnErrorThatCannotBeShown() {
        RuntimeException hostile = new RuntimeException() {
            @Override
            public String getMessage() {
                throw new IllegalStateException("twice");
            }
        };
        assertThatExceptionOfType(BundleRefusedException.class)
                .isThrownBy(() -> bounded.run("start org.acme.hostile", LONG, () -> {
                    throw hostile;
                }))
                .withMessage(hostile.getClass().getName());
    }

    @Test
    void interruptsWhatTakesLongerThanALimitUnderASecond() throws Exception {
        BoundedStep.Ended ended =
                bounded.run("start org.acme.hangs", Duration.ofMillis(20), () -> new CompletableFuture<>().get());

        assertThat(ended).isEqualTo(BoundedStep.Ended.INTERRUPTED);
        assertThat(logged).isNotDone();
    }
}
