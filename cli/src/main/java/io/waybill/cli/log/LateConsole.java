package io.waybill.cli.log;

import ch.qos.logback.classic.encoder.PatternLayoutEncoder;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.ConsoleAppender;
import ch.qos.logback.core.UnsynchronizedAppenderBase;

/**
 * Appender to standard error that is initialized by the first event: most commands and programs log none, and the
 * layout of a line needs a hundred classes.
 *
 * <p><b>Threads.</b> Any.
 */
final class LateConsole extends UnsynchronizedAppenderBase<ILoggingEvent> {

    static final String PATTERN = "%d{yyyy-MM-dd HH:mm:ss.SSS} %-5level [%thread] %logger{0}: %msg%n";

    private ConsoleAppender<ILoggingEvent> console; // guarded by this; null before the first event

    @Override
    protected void append(ILoggingEvent event) {
        console().doAppend(event);
    }

    synchronized ConsoleAppender<ILoggingEvent> console() {
        if (console == null) {
            PatternLayoutEncoder encoder = new PatternLayoutEncoder();
            encoder.setContext(getContext());
            encoder.setPattern(PATTERN);
            encoder.start();
            ConsoleAppender<ILoggingEvent> made = new ConsoleAppender<>();
            made.setContext(getContext());
            made.setName(getName());
            made.setTarget("System.err");
            made.setEncoder(encoder);
            made.start();
            console = made;
        }
        return console;
    }

    @Override
    public synchronized void stop() {
        super.stop();
        if (console != null) {
            console.stop();
        }
    }
}
