package io.waybill.cli.log;

import ch.qos.logback.classic.ClassicConstants;
import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.spi.Configurator;
import ch.qos.logback.core.spi.ContextAwareBase;
import ch.qos.logback.core.status.NopStatusListener;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.Arrays;

/**
 * Configuration of the log that equals the shipped {@code conf/logback.xml}, for a process that uses the unchanged
 * file: the XML parser and the interpreter of its elements are a fifth of the classes that a program loads until it has
 * joined. Logback itself reads a changed file, or one with a scan interval.
 *
 * <p>Logback finds this class by its name in {@code META-INF/services}.
 *
 * <p><b>Threads.</b> Called once, by the thread that logs first.
 */
public final class ShippedLog extends ContextAwareBase implements Configurator {

    static final String SCAN_PROPERTY = "waybill.log.scan";
    static final String LEVEL_PROPERTY = "waybill.log.level";

    /** Name of the appender in the file. */
    private static final String APPENDER = "STDERR";

    /** Copy of the file in this class's jar. */
    private static final String SHIPPED = "logback.xml";

    private static final long MAX_BYTES = 64 << 10;

    @Override
    public ExecutionStatus configure(LoggerContext context) {
        String level = System.getProperty(LEVEL_PROPERTY);
        if (Boolean.getBoolean(SCAN_PROPERTY)
                || (level != null && Level.toLevel(level, null) == null)
                || !isShipped(System.getProperty(ClassicConstants.CONFIG_FILE_PROPERTY))) {
            return ExecutionStatus.INVOKE_NEXT_IF_ANY;
        }
        context.getStatusManager()
                .add(new NopStatusListener()); // without one, Logback searches for messages about this
        // and prints them
        LateConsole console = new LateConsole();
        console.setContext(context);
        console.setName(APPENDER);
        console.start();
        Logger root = context.getLogger(org.slf4j.Logger.ROOT_LOGGER_NAME);
        root.setLevel(Level.WARN);
        root.addAppender(console);
        context.getLogger("net.openhft").setLevel(Level.ERROR);
        context.getLogger("io.waybill").setLevel(Level.toLevel(level, Level.WARN));
        context.getLogger("io.waybill.worker.upkeep.Housekeeper").setLevel(Level.toLevel(level, Level.ERROR));
        return ExecutionStatus.DO_NOT_INVOKE_NEXT_IF_ANY;
    }

    private static boolean isShipped(String name) {
        if (name == null) {
            return false;
        }
        try (InputStream shipped = ShippedLog.class.getResourceAsStream(SHIPPED)) {
            Path file = Path.of(name);
            return shipped != null
                    && Files.isRegularFile(file)
                    && Files.size(file) < MAX_BYTES
                    && Arrays.equals(shipped.readAllBytes(), Files.readAllBytes(file));
        } catch (IOException | InvalidPathException e) { // for example a URL: Logback reads it, or reports an error
            return false;
        }
    }
}
