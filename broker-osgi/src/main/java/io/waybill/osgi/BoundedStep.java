package io.waybill.osgi;

import io.waybill.host.Threads;
import io.waybill.osgi.jar.BundleRefusedException;
import io.waybill.osgi.jar.BundleRefusedException.Reason;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Runs a bundle's code on a separate thread with a time limit. A wait of more than a second is logged. Code that hangs
 * is interrupted, and abandoned if that has no effect. Thread-safe.
 */
final class BoundedStep {

    private static final Logger LOG = LoggerFactory.getLogger(BoundedStep.class);
    private static final Duration QUIET = Duration.ofSeconds(1);
    private static final Duration INTERRUPT_LIMIT = Duration.ofSeconds(1);

    private final Threads threads;

    BoundedStep(Threads threads) {
        this.threads = threads;
    }

    /** Code to run; may fail with any exception. */
    interface Step {
        void run() throws Exception;
    }

    /** Result of a step. */
    enum Ended {
        /** The step returned in time. */
        IN_TIME,
        /** The step returned after it was interrupted; its work is incomplete. */
        INTERRUPTED,
        /** The step did not return and still runs. */
        NEVER
    }

    /**
     * Runs a step.
     *
     * @throws BundleRefusedException {@link Reason#START_FAILED} with the innermost cause when the step throws
     */
    Ended run(String threadName, Duration limit, Step step) throws BundleRefusedException {
        // what it threw, if anything: completed exceptionally, the future would make a text of a bundle's own exception
        CompletableFuture<Optional<Throwable>> done = new CompletableFuture<>();
        Thread thread = start(threadName, () -> {
            Thread.currentThread().setContextClassLoader(BoundedStep.class.getClassLoader());
            Thread.interrupted(); // this interrupt is not for the bundle; the limit sends its own
            try {
                step.run();
                done.complete(Optional.empty());
            } catch (Throwable e) { // the boundary around a bundle's code: passed to the waiting thread below
                done.complete(Optional.of(e));
            }
        });
        try {
            Optional<Throwable> thrown = await(threadName, limit, done);
            if (thrown.isPresent()) {
                throw new BundleRefusedException(Reason.START_FAILED, innermost(thrown.get()), thrown.get());
            }
            return Ended.IN_TIME;
        } catch (TimeoutException e) {
            thread.interrupt();
            return awaitInterrupted(done);
        } catch (InterruptedException e) {
            thread.interrupt();
            Thread.currentThread().interrupt();
            throw new BundleRefusedException(Reason.FAILED, "interrupted while it waited for " + threadName, e);
        }
    }

    private static <T> T await(String step, Duration limit, CompletableFuture<T> done)
            throws InterruptedException, TimeoutException {
        try {
            return get(done, Math.min(QUIET.toNanos(), limit.toNanos()));
        } catch (TimeoutException e) {
            if (limit.compareTo(QUIET) <= 0) {
                throw e;
            }
            LOG.info("Waiting for: {}; it has up to {} s", step, limit.toSeconds());
            return get(done, limit.minus(QUIET).toNanos());
        }
    }

    private static <T> T get(CompletableFuture<T> done, long limitNs) throws InterruptedException, TimeoutException {
        try {
            return done.get(limitNs, TimeUnit.NANOSECONDS);
        } catch (ExecutionException e) {
            throw new IllegalStateException("it is never completed exceptionally", e);
        }
    }

    private Thread start(String threadName, Runnable body) throws BundleRefusedException {
        try {
            return threads.start(threadName, body);
        } catch (Threads.RefusedException e) {
            throw new BundleRefusedException(Reason.FAILED, e.getMessage(), e);
        }
    }

    private static Ended awaitInterrupted(CompletableFuture<?> done) {
        try {
            get(done, INTERRUPT_LIMIT.toNanos());
            return Ended.INTERRUPTED;
        } catch (TimeoutException e) {
            return Ended.NEVER;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return Ended.NEVER;
        }
    }

    /**
     * Returns the text of the innermost cause, with its type; or the host's reason for a refusal. Does not throw, although
     * the error may be of a bundle's own class.
     */
    static String innermost(Throwable error) {
        try {
            Throwable cause = error;
            for (int depth = 0; cause.getCause() != null && depth < 50; depth++) {
                if (cause instanceof Threads.RefusedException) {
                    return cause.getMessage();
                }
                cause = cause.getCause();
            }
            return cause.getMessage() == null
                    ? cause.getClass().getName()
                    : cause.getClass().getName() + ": " + cause.getMessage();
        } catch (Throwable inText) {
            return error.getClass().getName();
        }
    }
}
