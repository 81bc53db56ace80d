package io.waybill.cli;

import java.text.MessageFormat;
import java.util.Locale;
import java.util.ResourceBundle;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Forwards log output of bundles through {@link System.Logger} to SLF4J, which has all other log output. The JDK finds
 * this class by its name in {@code META-INF/services}.
 *
 * <p>From version 21 on, the JDK requests its own logger at each {@link System#exit}. SLF4J's finder would initialize
 * the whole log for it, even in commands that log nothing.
 *
 * <p><b>Threads.</b> Any.
 */
public final class PlatformLoggers extends System.LoggerFinder {

    /** Name of the logger with which the JDK logs an exit. */
    private static final String OF_EXITS = "java.lang.Runtime";

    private static final System.Logger NOTHING = new Passed(OF_EXITS, null);

    @Override
    public System.Logger getLogger(String name, Module module) {
        return name.equals(OF_EXITS) ? NOTHING : new Passed(name, LoggerFactory.getLogger(name));
    }

    /** @param to null for a logger without output */
    private record Passed(String name, Logger to) implements System.Logger {

        @Override
        public String getName() {
            return name;
        }

        @Override
        public boolean isLoggable(Level level) {
            return to != null && level != Level.OFF && to.isEnabledForLevel(levelOf(level));
        }

        @Override
        public void log(Level level, ResourceBundle bundle, String message, Throwable thrown) {
            if (isLoggable(level)) {
                to.atLevel(levelOf(level)).setCause(thrown).log(localized(bundle, message));
            }
        }

        @Override
        public void log(Level level, ResourceBundle bundle, String format, Object... parameters) {
            if (isLoggable(level)) {
                String text = localized(bundle, format);
                to.atLevel(levelOf(level))
                        .log(
                                parameters == null || parameters.length == 0
                                        ? text
                                        : new MessageFormat(text, Locale.ROOT).format(parameters));
            }
        }

        private static String localized(ResourceBundle bundle, String key) {
            return bundle != null && key != null && bundle.containsKey(key) ? bundle.getString(key) : key;
        }

        private static org.slf4j.event.Level levelOf(Level level) {
            return switch (level) {
                case ALL, TRACE -> org.slf4j.event.Level.TRACE;
                case DEBUG -> org.slf4j.event.Level.DEBUG;
                case INFO -> org.slf4j.event.Level.INFO;
                case WARNING -> org.slf4j.event.Level.WARN;
                case ERROR, OFF -> org.slf4j.event.Level.ERROR;
            };
        }
    }
}
