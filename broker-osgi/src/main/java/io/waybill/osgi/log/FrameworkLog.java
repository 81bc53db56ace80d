package io.waybill.osgi.log;

import org.apache.felix.framework.Logger;
import org.osgi.framework.Bundle;
import org.osgi.framework.ServiceReference;
import org.slf4j.LoggerFactory;

/** Logger of the framework, which writes to the node's log. Thread-safe. */
public final class FrameworkLog extends Logger {

    private static final org.slf4j.Logger LOG = LoggerFactory.getLogger("io.waybill.osgi.framework");

    @Override
    protected void doLog(
            Bundle bundle,
            @SuppressWarnings("rawtypes") ServiceReference reference,
            int level,
            String message,
            Throwable throwable) {
        doLog(level, bundle == null ? message : "[" + bundle.getSymbolicName() + "] " + message, throwable);
    }

    @Override
    protected void doLog(int level, String message, Throwable throwable) {
        switch (level) {
            case LOG_ERROR -> LOG.error(message, throwable);
            case LOG_WARNING -> LOG.warn(message, throwable);
            case LOG_INFO -> LOG.info(message, throwable);
            default -> LOG.debug(message, throwable);
        }
    }
}
