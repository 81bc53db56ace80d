package io.waybill.osgi.log;

import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.Arrays;
import java.util.Locale;
import org.osgi.framework.Bundle;
import org.osgi.service.log.FormatterLogger;
import org.osgi.service.log.Logger;
import org.osgi.service.log.LoggerConsumer;
import org.osgi.service.log.LoggerFactory;
import org.slf4j.event.Level;

/**
 * OSGi's log service on top of slf4j, so that SCR and ConfigAdmin write to the node's log instead of its standard
 * output. Thread-safe.
 */
public final class ServiceLog implements LoggerFactory {

    @Override
    public Logger getLogger(String name) {
        return getLogger(name, Logger.class);
    }

    @Override
    public Logger getLogger(Class<?> type) {
        return getLogger(type.getName(), Logger.class);
    }

    @Override
    public <L extends Logger> L getLogger(Class<?> type, Class<L> loggerType) {
        return getLogger(type.getName(), loggerType);
    }

    @Override
    public <L extends Logger> L getLogger(Bundle bundle, String name, Class<L> loggerType) {
        return getLogger(name.equals(Logger.ROOT_LOGGER_NAME) ? bundle.getSymbolicName() : name, loggerType);
    }

    @Override
    public <L extends Logger> L getLogger(String name, Class<L> loggerType) {
        if (loggerType != Logger.class && loggerType != FormatterLogger.class) {
            throw new IllegalArgumentException("a logger is a Logger or a FormatterLogger: " + loggerType.getName());
        }
        org.slf4j.Logger target = org.slf4j.LoggerFactory.getLogger(name);
        boolean formats = loggerType == FormatterLogger.class;
        return loggerType.cast(Proxy.newProxyInstance(
                Logger.class.getClassLoader(),
                new Class<?>[] {loggerType},
                (proxy, method, arguments) -> call(target, formats, proxy, method, arguments)));
    }

    private static Object call(
            org.slf4j.Logger target, boolean formats, Object proxy, Method method, Object[] arguments)
            throws Exception {
        String name = method.getName();
        switch (name) {
            case "getName":
                return target.getName();
            case "toString":
                return "log of " + target.getName();
            case "hashCode":
                return System.identityHashCode(proxy);
            case "equals":
                return proxy == arguments[0];
            default:
                break;
        }
        if (name.startsWith("is")) {
            return target.isEnabledForLevel(level(name.substring(2, name.length() - "Enabled".length())));
        }
        Level level = level(name);
        if (!target.isEnabledForLevel(level)) {
            return null;
        }
        if (arguments[0] instanceof LoggerConsumer<?> consumer) {
            consumer.accept((Logger) proxy);
        } else {
            log(target, level, formats, (String) arguments[0], parameters(arguments));
        }
        return null;
    }

    private static void log(org.slf4j.Logger target, Level level, boolean formats, String text, Object[] parameters) {
        if (!formats) {
            target.atLevel(level).log(text, parameters);
            return;
        }
        int last = parameters.length - 1;
        Throwable cause = last >= 0 && parameters[last] instanceof Throwable thrown ? thrown : null;
        target.atLevel(level).setCause(cause).log(String.format(Locale.ROOT, text, parameters));
    }

    /** Returns the parameters after the text: one or two objects, or an array of them. */
    private static Object[] parameters(Object[] arguments) {
        if (arguments.length == 2 && arguments[1] instanceof Object[] several) {
            return several;
        }
        return Arrays.copyOfRange(arguments, 1, arguments.length);
    }

    private static Level level(String name) {
        return switch (name.toLowerCase(java.util.Locale.ROOT)) {
            case "error" -> Level.ERROR;
            case "warn" -> Level.WARN;
            case "debug" -> Level.DEBUG;
            case "trace" -> Level.TRACE;
            default -> Level.INFO; // info, and audit, which has no level
        };
    }
}
