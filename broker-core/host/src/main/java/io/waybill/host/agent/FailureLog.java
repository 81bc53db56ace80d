package io.waybill.host.agent;

import org.agrona.ErrorHandler;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Logs the failures of one agent: the first of a series as an error, the others for debugging, and the end of the
 * series. An error handler of the agent's own replaces the first two. Does not throw.
 *
 * <p><b>Threads.</b> Belongs to the agent's thread.
 */
final class FailureLog implements ErrorHandler {

    private static final Logger LOG = LoggerFactory.getLogger(FailureLog.class);

    private final String threadName;
    private final ErrorHandler own;
    private long failuresInSeries;

    FailureLog(String threadName) {
        this.threadName = threadName;
        this.own = this::log;
    }

    FailureLog(String threadName, ErrorHandler own) {
        this.threadName = threadName;
        this.own = own;
    }

    @Override
    public void onError(Throwable e) {
        failuresInSeries++;
        try {
            own.onError(e);
        } catch (Throwable inHandler) { // must not end the agent
            LOG.error(
                    "{} failed with {}, which can't be shown",
                    threadName,
                    e.getClass().getName());
        }
    }

    private void log(Throwable e) {
        if (failuresInSeries == 1) {
            LOG.error("{} failed and is retried until it succeeds", threadName, e);
        } else {
            LOG.debug("{} failed {} times in a row", threadName, failuresInSeries, e);
        }
    }

    /** Ends a series of failures: a duty cycle ended without one. */
    void succeeded() {
        if (failuresInSeries > 0) {
            LOG.info("{} succeeds again after {} failures", threadName, failuresInSeries);
            failuresInSeries = 0;
        }
    }
}
