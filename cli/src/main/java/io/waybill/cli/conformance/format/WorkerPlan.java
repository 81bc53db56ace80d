package io.waybill.cli.conformance.format;

import io.waybill.api.WorkerInfo;
import io.waybill.home.JoinOptions;
import io.waybill.injection.InjectionSettings;
import java.time.Duration;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * A worker that cases need.
 *
 * @param kind what it hosts
 * @param id its worker id, or {@link JoinOptions#ANY_ID}
 * @param timeout of its calls that name none; empty for the broker's own
 * @param injection of faults that it makes on purpose
 */
public record WorkerPlan(String name, Kind kind, int id, Optional<Duration> timeout, InjectionSettings injection) {

    /** What a worker hosts. */
    public enum Kind {
        /** A Java program: no bundles. */
        PLAIN,
        /** A node with the bundles of the distribution. */
        NODE
    }

    private static final Set<String> KNOWN = Set.of("kind", "id", "timeout", "inject");

    /**
     * Reads one: its kind alone, or an object.
     *
     * @param id unless it says another
     */
    static WorkerPlan of(String name, Datum datum, int id) throws FormatException {
        try {
            WorkerInfo.requireName(name);
            if (datum instanceof Datum.Text kind) {
                return new WorkerPlan(name, kind(name, kind.value()), id, Optional.empty(), InjectionSettings.NONE);
            }
            Fields fields = Fields.of("the worker " + name, datum).only(KNOWN);
            Optional<Duration> timeout =
                    fields.has("timeout") ? Optional.of(Times.of(fields.require("timeout"))) : Optional.empty();
            int wanted = (int) fields.whole("id", id, JoinOptions.ANY_ID, WorkerInfo.MAX_ID);
            InjectionSettings injection =
                    fields.has("inject") ? Injections.of(fields.require("inject")) : InjectionSettings.NONE;
            return new WorkerPlan(name, kind(name, fields.text("kind")), wanted, timeout, injection);
        } catch (IllegalArgumentException e) {
            throw new FormatException(e.getMessage(), e);
        }
    }

    private static Kind kind(String name, String text) throws FormatException {
        for (Kind kind : Kind.values()) {
            if (kind.name().toLowerCase(Locale.ROOT).equals(text)) {
                return kind;
            }
        }
        throw new FormatException("the worker " + name + " is plain or node, not " + text);
    }

    /** What {@link #of} reads. */
    public Datum toDatum() {
        Map<String, Datum> fields = new java.util.LinkedHashMap<>();
        fields.put("kind", new Datum.Text(kind.name().toLowerCase(Locale.ROOT)));
        fields.put("id", new Datum.Whole(id));
        timeout.ifPresent(value -> fields.put("timeout", new Datum.Text(value.toNanos() + "ns")));
        if (!injection.isNone()) {
            fields.put("inject", Injections.toDatum(injection));
        }
        return new Datum.Record(fields);
    }

    /** Reads what {@link #toDatum} gave. */
    public static WorkerPlan of(String name, Datum datum) throws FormatException {
        return of(name, datum, JoinOptions.ANY_ID);
    }
}
