package io.waybill.osgi;

import io.waybill.osgi.jar.ShippedBundles;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CancellationException;
import java.util.function.BooleanSupplier;

/**
 * Settings of the framework in a node.
 *
 * @param bundles bundles of the distribution: {@code <start level>/<name>.jar}. Levels below
 *     {@value io.waybill.osgi.guard.StartLevels#FIRST_HANDLER_LEVEL} are system bundles and never change; the others
 *     are handler bundles like those that an operator installs
 * @param shipped the bundles of the distribution that are started
 * @param watched jars that appear, change or disappear here are installed, updated or uninstalled; created if missing
 * @param installed private to the node: the jars that were installed by command, for its next start; created if missing
 * @param cache private to the node: the framework's cache and the copies of jars that run, useless after its end;
 *     created if missing
 * @param conf directory of files {@code <PID>.cfg}; created if missing
 * @param scripts scripts that appear, change or disappear here are served, replaced or withdrawn; created if missing
 * @param framework properties for the framework, as an operator wrote them; they override the host's, and extra system
 *     packages are added to the host's
 * @param drainLimit max time for running requests to complete when their handler is removed
 * @param startLimit max time for a bundle to start
 * @param activationLimit max time for components to become satisfied after their bundle started
 * @param lookInterval interval between two scans of {@code watched} and {@code conf}
 * @param unrecordedInputs whether unrecorded input of handlers is reported: times and random numbers from sources other
 *     than their outbox
 * @param startCancelled cancels the start when it returns true; called before each bundle, on the thread that starts
 *     the node
 */
public record OsgiSettings(
        Path bundles,
        ShippedBundles shipped,
        Path watched,
        Path installed,
        Path cache,
        Path conf,
        Path scripts,
        Map<String, String> framework,
        Duration drainLimit,
        Duration startLimit,
        Duration activationLimit,
        Duration lookInterval,
        UnrecordedInputs unrecordedInputs,
        BooleanSupplier startCancelled) {

    /** Option to instrument bundles so that they report unrecorded input. */
    public enum UnrecordedInputs {
        /** Not instrumented. */
        LEFT_ALONE,
        /** Reads of the clock and of random numbers are reported to {@link io.waybill.osgi.watch.HandlerWatch}. */
        NOTED
    }

    public static final Duration DRAIN_LIMIT_DEFAULT = Duration.ofSeconds(10);
    public static final Duration START_LIMIT_DEFAULT = Duration.ofSeconds(30);
    public static final Duration ACTIVATION_LIMIT_DEFAULT = Duration.ofSeconds(2);
    public static final Duration LOOK_INTERVAL_DEFAULT = Duration.ofSeconds(1);
    /** Max size of a bundle. */
    public static final long MAX_JAR_BYTES = 1L << 30;

    public OsgiSettings {
        for (Object required : new Object[] {
            bundles, shipped, watched, installed, cache, conf, scripts, unrecordedInputs, startCancelled
        }) {
            Objects.requireNonNull(required);
        }
        framework = Map.copyOf(framework);
        require("osgi.drain-limit", drainLimit, Duration.ZERO);
        require("osgi.start-limit", startLimit, Duration.ofNanos(1));
        require("osgi.activation-limit", activationLimit, Duration.ZERO);
        require("osgi.look-interval", lookInterval, Duration.ofNanos(1));
    }

    /**
     * Cancels the start of a node that is no longer wanted.
     *
     * @throws CancellationException if the start was cancelled
     */
    void requireNotCancelled() {
        if (startCancelled.getAsBoolean()) {
            throw new CancellationException("the node was stopped before it was ready");
        }
    }

    private static void require(String key, Duration value, Duration min) {
        if (value.compareTo(min) < 0) {
            throw new IllegalArgumentException(
                    key + " must be " + (min.isZero() ? "0 or more: " : "above 0: ") + value);
        }
    }

    /**
     * Creates a builder with the default limits.
     *
     * @param own the node's own directory, which will contain {@code cache}, {@code installed} and {@code scripts}
     */
    public static Builder builder(Path bundles, Path watched, Path own, Path conf) {
        return new Builder(bundles, watched, own, conf);
    }

    /** Builder of settings. For one thread. */
    public static final class Builder {
        private final Path bundles;
        private final Path watched;
        private final Path own;
        private final Path conf;
        private Path scripts;
        private ShippedBundles shipped = ShippedBundles.ALL;
        private Map<String, String> framework = Map.of();
        private Duration drainLimit = DRAIN_LIMIT_DEFAULT;
        private Duration startLimit = START_LIMIT_DEFAULT;
        private Duration activationLimit = ACTIVATION_LIMIT_DEFAULT;
        private Duration lookInterval = LOOK_INTERVAL_DEFAULT;
        private UnrecordedInputs unrecordedInputs = UnrecordedInputs.LEFT_ALONE;
        private BooleanSupplier startCancelled = () -> false;

        private Builder(Path bundles, Path watched, Path own, Path conf) {
            this.bundles = bundles;
            this.watched = watched;
            this.own = own;
            this.conf = conf;
            this.scripts = own.resolve("scripts");
        }

        /** Sets {@link OsgiSettings#scripts}. */
        public Builder scripts(Path other) {
            scripts = other;
            return this;
        }

        /** Sets {@link OsgiSettings#shipped}. */
        public Builder shipped(ShippedBundles other) {
            shipped = other;
            return this;
        }

        /** Sets {@link OsgiSettings#framework}. */
        public Builder framework(Map<String, String> other) {
            framework = other;
            return this;
        }

        /**
         * Sets {@link OsgiSettings#drainLimit}, {@link OsgiSettings#startLimit} and
         * {@link OsgiSettings#activationLimit}.
         */
        public Builder limits(Duration drain, Duration start, Duration activation) {
            drainLimit = drain;
            startLimit = start;
            activationLimit = activation;
            return this;
        }

        /** Sets {@link OsgiSettings#lookInterval}. */
        public Builder lookInterval(Duration other) {
            lookInterval = other;
            return this;
        }

        /** Sets {@link OsgiSettings#unrecordedInputs}. */
        public Builder unrecordedInputs(UnrecordedInputs other) {
            unrecordedInputs = other;
            return this;
        }

        /** Sets {@link OsgiSettings#startCancelled}; by default a start is never cancelled. */
        public Builder startCancelled(BooleanSupplier other) {
            startCancelled = other;
            return this;
        }

        /**
         * Returns the settings.
         *
         * @throws IllegalArgumentException if a value is out of its range, with its key
         */
        public OsgiSettings build() {
            return new OsgiSettings(
                    bundles,
                    shipped,
                    watched,
                    own.resolve("installed"),
                    own.resolve("cache"),
                    conf,
                    scripts,
                    framework,
                    drainLimit,
                    startLimit,
                    activationLimit,
                    lookInterval,
                    unrecordedInputs,
                    startCancelled);
        }
    }
}
