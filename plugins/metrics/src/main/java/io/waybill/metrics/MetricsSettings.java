package io.waybill.metrics;

import io.waybill.http.ListenAddress;
import io.waybill.metrics.otlp.OtlpExporter;
import java.net.URI;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;

/** Validated settings of {@code conf/io.waybill.metrics.cfg}. All exports are off by default. Immutable. */
final class MetricsSettings {

    private static final int MAX_INTERVAL_S = 3600;

    private final Config config;
    private final ListenAddress listen; // null for none
    private final OtlpExporter.Target otlp; // null for none

    /** Keys of the settings; in the file they have dots instead of underscores. */
    @interface Config {

        /** Returns the address for scrapes; empty for none. */
        String listen() default "";

        /** Returns the receiver of OTLP, such as {@code http://127.0.0.1:4318}; empty for none. */
        String otlp_endpoint() default "";

        /** Returns the headers of requests to the receiver: {@code name=value}, separated by commas. */
        String otlp_headers() default "";

        /**
         * Returns the seconds between two exports of metrics; a text, so that this class reports an invalid number with
         * its key.
         */
        String otlp_interval() default "60";

        /** Returns whether metrics are exported. */
        boolean otlp_metrics() default true;

        /** Returns whether spans of sampled calls are exported. */
        boolean otlp_traces() default true;

        /** Returns whether workers are MXBeans of the node's JVM. */
        boolean jmx() default false;
    }

    /** @throws IllegalArgumentException if a value is invalid; the message names the key */
    MetricsSettings(Config config) {
        this.config = config;
        this.listen = config.listen().isBlank()
                ? null
                : ListenAddress.parse(config.listen().strip());
        this.otlp = config.otlp_endpoint().isBlank() ? null : target(config);
    }

    private static OtlpExporter.Target target(Config config) {
        URI endpoint = endpoint(config.otlp_endpoint().strip().replaceFirst("/+$", ""));
        return new OtlpExporter.Target(
                endpoint,
                headers(config.otlp_headers()),
                interval(config.otlp_interval().strip()));
    }

    private static Duration interval(String text) {
        try {
            int seconds = Integer.parseInt(text);
            if (seconds >= 1 && seconds <= MAX_INTERVAL_S) {
                return Duration.ofSeconds(seconds);
            }
        } catch (NumberFormatException e) {
            // reported below
        }
        throw new IllegalArgumentException("otlp.interval is from 1 to " + MAX_INTERVAL_S + " s: " + text);
    }

    private static URI endpoint(String text) {
        try {
            URI uri = URI.create(text);
            boolean isHttp = "http".equals(uri.getScheme()) || "https".equals(uri.getScheme());
            if (isHttp && uri.getHost() != null && uri.getQuery() == null && uri.getUserInfo() == null) {
                return uri;
            }
        } catch (IllegalArgumentException e) {
            // reported below
        }
        throw new IllegalArgumentException(
                "otlp.endpoint is the address of a receiver of OTLP over HTTP, such as http://127.0.0.1:4318: " + text);
    }

    private static Map<String, String> headers(String text) {
        Map<String, String> headers = new LinkedHashMap<>();
        for (String pair : text.isBlank() ? new String[0] : text.split(",")) {
            int equals = pair.indexOf('=');
            String name = equals < 0 ? "" : pair.substring(0, equals).strip();
            if (!name.matches("[A-Za-z0-9!#$%&'*+.^_`|~-]+")) {
                // without the value, which may be a secret
                throw new IllegalArgumentException(
                        "otlp.headers is a list of name=value, separated by commas: the name of one is missing or is none");
            }
            headers.put(name, pair.substring(equals + 1).strip());
        }
        return headers;
    }

    Optional<ListenAddress> listen() {
        return Optional.ofNullable(listen);
    }

    Optional<OtlpExporter.Target> otlp() {
        return Optional.ofNullable(otlp);
    }

    /** Returns whether other settings have the same address. */
    boolean listensAs(MetricsSettings other) {
        return config.listen().strip().equals(other.config.listen().strip());
    }

    /** Returns whether other settings have the same exports over OTLP. */
    boolean exportsAs(MetricsSettings other) {
        return otlp().equals(other.otlp())
                && exportsMetrics() == other.exportsMetrics()
                && exportsTraces() == other.exportsTraces();
    }

    boolean exportsMetrics() {
        return otlp != null && config.otlp_metrics();
    }

    boolean exportsTraces() {
        return otlp != null && config.otlp_traces();
    }

    boolean hasBeans() {
        return config.jmx();
    }
}
