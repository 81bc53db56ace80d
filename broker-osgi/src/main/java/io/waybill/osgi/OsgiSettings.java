package io.waybill.osgi;

import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.Objects;

/**
 * Settings of the framework in a node.
 *
 * @param bundles what the node comes with: {@code <start level>/<name>.jar}. Levels below {@value #FIRST_HANDLER_LEVEL} are the system's and
 *     stay as they are; those from there on are handler bundles like those that an operator installs
 * @param shipped which of those start
 * @param watched jars that appear, change or disappear here are installed, updated or uninstalled; made when missing
 * @param installed private to the node: the jars that were installed by command, for its next start; made when missing
 * @param cache private to the node: the framework's cache and the copies of jars that run, worthless after its end; made when missing
 * @param conf {@code <PID>.cfg} each; made when missing
 * @param scripts scripts that appear, change or disappear here are served, replaced or withdrawn; made when missing
 * @param framework properties for the framework, as an operator wrote them; they win over what the host sets, and extra system packages
 *     come on top of the host's
 * @param drainLimit how long running requests may take to end when their handler leaves
 * @param startLimit how long a bundle may take to start
 * @param settleLimit how long components may take to become satisfied after their bundle started
 * @param lookInterval how often {@code watched} and {@code conf} are looked at
 * @param maxJarBytes greatest size of a bundle
 * @param unrecordedInputs whether it is noted what handlers read of the time and of chance by themselves
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
        Duration settleLimit,
        Duration lookInterval,
        long maxJarBytes,
        UnrecordedInputs unrecordedInputs) {

    /** What becomes of the calls in bundles that read the time, or draw random numbers, without asking the outbox. */
    public enum UnrecordedInputs {
        LEFT_ALONE,
        /** They tell the {@link io.waybill.osgi.watch.HandlerWatch}, and go on. */
        NOTED
    }

    /** The start level of bundles that an operator installs. */
    public static final int FIRST_HANDLER_LEVEL = 10;

    public static final Duration DRAIN_LIMIT_DEFAULT = Duration.ofSeconds(10);
    public static final Duration START_LIMIT_DEFAULT = Duration.ofSeconds(30);
    public static final Duration SETTLE_LIMIT_DEFAULT = Duration.ofSeconds(2);
    public static final Duration LOOK_INTERVAL_DEFAULT = Duration.ofSeconds(1);
    public static final long MAX_JAR_BYTES_DEFAULT = 1L << 30;

    public OsgiSettings {
        Objects.requireNonNull(bundles);
        Objects.requireNonNull(shipped);
        Objects.requireNonNull(watched);
        Objects.requireNonNull(installed);
        Objects.requireNonNull(cache);
        Objects.requireNonNull(conf);
        Objects.requireNonNull(scripts);
        Objects.requireNonNull(unrecordedInputs);
        framework = Map.copyOf(framework);
        requireNotNegative("osgi.drain-limit", drainLimit);
        requirePositive("osgi.start-limit", startLimit);
        requireNotNegative("osgi.settle-limit", settleLimit);
        requirePositive("osgi.look-interval", lookInterval);
        if (maxJarBytes <= 0) {
            throw new IllegalArgumentException("osgi.max-jar-bytes must be above 0: " + maxJarBytes);
        }
    }

    /**
     * The usual limits.
     *
     * @param own the node's own directory: {@code cache}, {@code installed} and {@code scripts} are made in it
     */
    public static OsgiSettings of(Path bundles, Path watched, Path own, Path conf) {
        return new OsgiSettings(
                bundles,
                ShippedBundles.ALL,
                watched,
                own.resolve("installed"),
                own.resolve("cache"),
                conf,
                own.resolve("scripts"),
                Map.of(),
                DRAIN_LIMIT_DEFAULT,
                START_LIMIT_DEFAULT,
                SETTLE_LIMIT_DEFAULT,
                LOOK_INTERVAL_DEFAULT,
                MAX_JAR_BYTES_DEFAULT,
                UnrecordedInputs.LEFT_ALONE);
    }

    /** The same with other framework properties. */
    public OsgiSettings withFramework(Map<String, String> properties) {
        return new OsgiSettings(
                bundles,
                shipped,
                watched,
                installed,
                cache,
                conf,
                scripts,
                properties,
                drainLimit,
                startLimit,
                settleLimit,
                lookInterval,
                maxJarBytes,
                unrecordedInputs);
    }

    /** The same with other limits. */
    public OsgiSettings withLimits(Duration drain, Duration start, Duration settle) {
        return new OsgiSettings(
                bundles,
                shipped,
                watched,
                installed,
                cache,
                conf,
                scripts,
                framework,
                drain,
                start,
                settle,
                lookInterval,
                maxJarBytes,
                unrecordedInputs);
    }

    /** The same with another directory of scripts. */
    public OsgiSettings withScripts(Path directory) {
        return new OsgiSettings(
                bundles,
                shipped,
                watched,
                installed,
                cache,
                conf,
                directory,
                framework,
                drainLimit,
                startLimit,
                settleLimit,
                lookInterval,
                maxJarBytes,
                unrecordedInputs);
    }

    /** The same with another choice of the bundles that the node comes with. */
    public OsgiSettings withShipped(ShippedBundles other) {
        return new OsgiSettings(
                bundles,
                other,
                watched,
                installed,
                cache,
                conf,
                scripts,
                framework,
                drainLimit,
                startLimit,
                settleLimit,
                lookInterval,
                maxJarBytes,
                unrecordedInputs);
    }

    /** The same with other treatment of bypasses. */
    public OsgiSettings withUnrecordedInputs(UnrecordedInputs other) {
        return new OsgiSettings(
                bundles,
                shipped,
                watched,
                installed,
                cache,
                conf,
                scripts,
                framework,
                drainLimit,
                startLimit,
                settleLimit,
                lookInterval,
                maxJarBytes,
                other);
    }

    private static void requireNotNegative(String key, Duration value) {
        if (value.isNegative()) {
            throw new IllegalArgumentException(key + " must be 0 or more: " + value);
        }
    }

    private static void requirePositive(String key, Duration value) {
        if (value.isNegative() || value.isZero()) {
            throw new IllegalArgumentException(key + " must be above 0: " + value);
        }
    }
}
