package io.waybill.metrics.otlp;

/**
 * Origin of an export: a worker, as OpenTelemetry's {@code Resource}, and its instrumentation.
 *
 * @param worker name, as {@code service.name}
 * @param pid id of its process
 * @param version of Waybill
 */
public record OtlpResource(String worker, long pid, String version) {

    private static final String NAMESPACE = "waybill";
    private static final String SCOPE = "io.waybill.metrics";
    private static final int KEY = 1;
    private static final int VALUE = 2;
    private static final int TEXT = 1;
    private static final int INTEGER = 3;

    /** Writes a {@code Resource} as a field. */
    void write(ProtoWriter out, int field) {
        out.message(field, resource -> {
            attribute(resource, 1, "service.name", worker);
            attribute(resource, 1, "service.namespace", NAMESPACE);
            attribute(resource, 1, "service.version", version);
            attribute(resource, 1, "process.pid", pid);
        });
    }

    /** Writes an {@code InstrumentationScope} as a field. */
    void writeScope(ProtoWriter out, int field) {
        out.message(field, scope -> scope.string(1, SCOPE).string(2, version));
    }

    /** Writes a {@code KeyValue} with a text as a field. */
    static void attribute(ProtoWriter out, int field, String key, String value) {
        out.message(field, pair -> pair.string(KEY, key).message(VALUE, any -> any.string(TEXT, value)));
    }

    /** Writes a {@code KeyValue} with a number as a field. */
    static void attribute(ProtoWriter out, int field, String key, long value) {
        out.message(field, pair -> pair.string(KEY, key).message(VALUE, any -> any.presentVarint(INTEGER, value)));
    }
}
