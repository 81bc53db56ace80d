package io.waybill.cli;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.encoder.PatternLayoutEncoder;
import ch.qos.logback.classic.joran.JoranConfigurator;
import ch.qos.logback.classic.spi.Configurator;
import ch.qos.logback.classic.spi.ConfiguratorRank;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.classic.util.DefaultJoranConfigurator;
import ch.qos.logback.core.ConsoleAppender;
import ch.qos.logback.core.joran.spi.JoranException;
import java.nio.file.Path;
import java.util.Map;
import java.util.ServiceLoader;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

class CommandLogTest {

    /** What differs for readers: levels by logger, and where lines go in which form. */
    private static Map<String, String> shownBy(LoggerContext log) {
        Map<String, String> shown = new TreeMap<>();
        for (Logger logger : log.getLoggerList()) {
            shown.put(logger.getName(), logger.getEffectiveLevel().toString());
            logger.iteratorForAppenders().forEachRemaining(appender -> {
                ConsoleAppender<ILoggingEvent> console = (ConsoleAppender<ILoggingEvent>) appender;
                PatternLayoutEncoder encoder = (PatternLayoutEncoder) console.getEncoder();
                assertThat(console.isStarted()).isTrue();
                shown.put(console.getName(), console.getTarget() + " " + encoder.getPattern());
            });
        }
        return shown;
    }

    @Test
    void showsWhatTheShippedFileShows() throws JoranException {
        LoggerContext byFile = new LoggerContext();
        JoranConfigurator reader = new JoranConfigurator();
        reader.setContext(byFile);
        reader.doConfigure(Path.of("../felix-config/src/main/conf/logback.xml").toFile());
        LoggerContext byClass = new LoggerContext();
        CommandLog log = new CommandLog();
        log.setContext(byClass);

        assertThat(log.configure(byClass)).isEqualTo(Configurator.ExecutionStatus.DO_NOT_INVOKE_NEXT_IF_ANY);

        byFile.getLoggerList().forEach(logger -> byClass.getLogger(logger.getName()));
        byClass.getLoggerList().forEach(logger -> byFile.getLogger(logger.getName()));
        assertThat(shownBy(byFile))
                .containsKeys("STDERR", "ROOT", "net.openhft")
                .isEqualTo(shownBy(byClass));
    }

    @Test
    void isAskedBehindConfigurationFiles() {
        assertThat(ServiceLoader.load(Configurator.class)).hasAtLeastOneElementOfType(CommandLog.class);
        assertThat(CommandLog.RANK)
                .isLessThan(DefaultJoranConfigurator.class
                        .getAnnotation(ConfiguratorRank.class)
                        .value())
                .isGreaterThan(ConfiguratorRank.FALLBACK);
    }
}
