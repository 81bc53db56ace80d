package io.waybill.cli.log;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.ClassicConstants;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.encoder.PatternLayoutEncoder;
import ch.qos.logback.classic.joran.JoranConfigurator;
import ch.qos.logback.classic.spi.Configurator.ExecutionStatus;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.Appender;
import ch.qos.logback.core.ConsoleAppender;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Iterator;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The log of the shipped file in code and in XML: the same. */
@Timeout(60)
class ShippedLogTest {

    private static final Path SHIPPED = Path.of("../felix-config/src/main/conf/logback.xml");

    @TempDir
    Path directory;

    @AfterEach
    void clear() {
        System.clearProperty(ClassicConstants.CONFIG_FILE_PROPERTY);
        System.clearProperty(ShippedLog.LEVEL_PROPERTY);
        System.clearProperty(ShippedLog.SCAN_PROPERTY);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "INFO", "debug", "OFF"})
    void configuresWhatTheShippedFileSays(String level) throws Exception {
        if (!level.isEmpty()) {
            System.setProperty(ShippedLog.LEVEL_PROPERTY, level);
        }
        LoggerContext read = new LoggerContext();
        JoranConfigurator joran = new JoranConfigurator();
        joran.setContext(read);
        joran.doConfigure(SHIPPED.toFile());

        assertThat(described(configured(SHIPPED, ExecutionStatus.DO_NOT_INVOKE_NEXT_IF_ANY)))
                .as("change io.waybill.cli.log as conf/logback.xml was changed")
                .isEqualTo(described(read));
    }

    @Test
    void leavesAChangedFileToLogback() throws Exception {
        Path changed = directory.resolve("logback.xml");
        Files.writeString(changed, Files.readString(SHIPPED).replace("WARN\">", "ERROR\">"));
        assertThat(Files.mismatch(changed, SHIPPED)).isPositive();

        assertThat(described(configured(changed, ExecutionStatus.INVOKE_NEXT_IF_ANY)))
                .isEqualTo(described(new LoggerContext()));
    }

    @Test
    void leavesAFileThatIsToBeReadAgainToLogback() throws Exception {
        System.setProperty(ShippedLog.SCAN_PROPERTY, "true");

        configured(SHIPPED, ExecutionStatus.INVOKE_NEXT_IF_ANY);
    }

    @ParameterizedTest
    @ValueSource(strings = {"no-such-file.xml", "file:/no/such/file.xml", "\0"})
    void leavesWhatIsNoFileToLogback(String name) {
        System.setProperty(ClassicConstants.CONFIG_FILE_PROPERTY, name);

        assertThat(new ShippedLog().configure(new LoggerContext())).isEqualTo(ExecutionStatus.INVOKE_NEXT_IF_ANY);
    }

    @Test
    void leavesALevelThatIsNoneToLogback() throws Exception {
        System.setProperty(ShippedLog.LEVEL_PROPERTY, "LOUD");

        configured(SHIPPED, ExecutionStatus.INVOKE_NEXT_IF_ANY);
    }

    private static LoggerContext configured(Path file, ExecutionStatus expected) {
        System.setProperty(ClassicConstants.CONFIG_FILE_PROPERTY, file.toString());
        LoggerContext context = new LoggerContext();
        ShippedLog log = new ShippedLog();
        log.setContext(context);
        assertThat(log.configure(context)).isEqualTo(expected);
        return context;
    }

    /** The levels of all loggers, and where they write what; without those that only lie between. */
    private static Map<String, String> described(LoggerContext context) throws IOException {
        Map<String, String> all = new TreeMap<>();
        for (Logger logger : context.getLoggerList()) {
            StringBuilder text = new StringBuilder();
            for (Iterator<Appender<ILoggingEvent>> each = logger.iteratorForAppenders(); each.hasNext(); ) {
                text.append(' ').append(described(each.next()));
            }
            if (logger.getLevel() != null || text.length() > 0) {
                all.put(logger.getName(), logger.getLevel() + " " + logger.isAdditive() + text);
            }
        }
        return all;
    }

    private static String described(Appender<ILoggingEvent> appender) {
        assertThat(appender.isStarted()).isTrue();
        assertThat(appender.getCopyOfAttachedFiltersList()).isEmpty();
        ConsoleAppender<ILoggingEvent> console =
                appender instanceof LateConsole late ? late.console() : (ConsoleAppender<ILoggingEvent>) appender;
        assertThat(console.isStarted()).isTrue();
        PatternLayoutEncoder encoder = (PatternLayoutEncoder) console.getEncoder();
        assertThat(encoder.isStarted()).isTrue();
        return String.join(
                " ",
                console.getName(),
                console.getTarget(),
                String.valueOf(console.isWithJansi()),
                String.valueOf(console.isImmediateFlush()),
                String.valueOf(encoder.getCharset() == null ? StandardCharsets.UTF_8 : encoder.getCharset()),
                encoder.getPattern());
    }
}
