package io.waybill.cli;

import java.text.MessageFormat;
import java.util.Locale;
import java.util.ResourceBundle;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Passes what bundles log with {@link System.Logger} to SLF4J, which logs all else. The JDK finds it by its name in
 * {@code META-INF/services}.
 *
 * <p>The JDK asks for a logger of its own at each {@link System#exit}, from 21 on. SLF4J's finder would start the whole log for it, in
 * commands that log nothing.
 *
 * <p><b>Threads.</b> Any.
 */
public final class PlatformLoggers extends System.LoggerFinder {

    /** By this name the JDK logs that a program ends. */
    private static final String OF_EXITS = "java.lang.Runtime";

    private static final System.Logger NOTHING = new Passed(OF_EXITS, null);

    @Override
    public System.Logger getLogger(String name, Module module) {
        return name.equals(OF_EXITS) ? NOTHING : new Passed(name, LoggerFactory.getLogger(name));
    }

    /** @param to null for one that logs nothing */
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
