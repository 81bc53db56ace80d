package io.waybill.cli;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.encoder.PatternLayoutEncoder;
import ch.qos.logback.classic.spi.Configurator;
import ch.qos.logback.classic.spi.ConfiguratorRank;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.ConsoleAppender;
import ch.qos.logback.core.spi.ContextAwareBase;
import org.slf4j.Logger;

/**
 * The log of commands that are no nodes: warnings, to standard error, in the form that {@code conf/logback.xml} gives nodes. Reading such a
 * file takes each command some 30 ms of processor time. Logback finds this class by its name in {@code META-INF/services}, and asks it
 * where there is no configuration file.
 */
@ConfiguratorRank(CommandLog.RANK)
public final class CommandLog extends ContextAwareBase implements Configurator {

    /** Behind configuration files, and before Logback's own default, which logs at {@code DEBUG} to standard output. */
    static final int RANK = ConfiguratorRank.NOMINAL - 1;

    static final String PATTERN = "%d{yyyy-MM-dd HH:mm:ss.SSS} %-5level [%thread] %logger{0}: %msg%n";

    @Override
    public ExecutionStatus configure(LoggerContext log) {
        PatternLayoutEncoder encoder = new PatternLayoutEncoder();
        encoder.setContext(log);
        encoder.setPattern(PATTERN);
        encoder.start();
        ConsoleAppender<ILoggingEvent> appender = new ConsoleAppender<>();
        appender.setContext(log);
        appender.setName("STDERR");
        appender.setTarget("System.err");
        appender.setEncoder(encoder);
        appender.start();
        ch.qos.logback.classic.Logger root = log.getLogger(Logger.ROOT_LOGGER_NAME);
        root.setLevel(Level.WARN);
        root.addAppender(appender);
        log.getLogger("net.openhft").setLevel(Level.ERROR);
        // not that it was stopped for a while
        log.getLogger("io.waybill.worker.upkeep.Housekeeper").setLevel(Level.ERROR);
        return ExecutionStatus.DO_NOT_INVOKE_NEXT_IF_ANY;
    }
}
