package io.waybill.cli.conformance.format;

import io.waybill.api.MessageType;
import io.waybill.injection.InjectionSettings;
import java.time.Duration;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Reads and writes which faults a worker injects. Stateless. */
final class Injections {

    private static final Set<String> KNOWN = Set.of("fail", "drop", "times", "delay", "duplicate", "reorder");

    private Injections() {}

    /** @throws IllegalArgumentException when it can't be injected */
    static InjectionSettings of(Datum datum) throws FormatException {
        Fields fields = Fields.of("inject", datum).only(KNOWN);
        int times = (int) fields.whole("times", InjectionSettings.NONE.times(), 0, Integer.MAX_VALUE);
        Map<MessageType, Duration> delays = new LinkedHashMap<>();
        for (Map.Entry<String, Datum> delay : fields.object("delay").entrySet()) {
            delays.put(InjectionSettings.type(delay.getKey()), Times.of(delay.getValue()));
        }
        return new InjectionSettings(
                types(fields, "fail"),
                types(fields, "drop"),
                times,
                delays,
                types(fields, "duplicate"),
                types(fields, "reorder"));
    }

    private static Set<MessageType> types(Fields fields, String name) throws FormatException {
        Set<MessageType> types = new LinkedHashSet<>();
        for (String type : fields.texts(name)) {
            types.add(InjectionSettings.type(type));
        }
        return types;
    }

    /** What {@link #of} reads. */
    static Datum toDatum(InjectionSettings settings) {
        Map<String, Datum> delays = new LinkedHashMap<>();
        settings.delay().forEach((type, time) -> delays.put(type.name(), new Datum.Text(time.toNanos() + "ns")));
        Map<String, Datum> fields = new LinkedHashMap<>();
        fields.put("fail", row(settings.fail()));
        fields.put("drop", row(settings.drop()));
        fields.put("times", new Datum.Whole(settings.times()));
        fields.put("delay", new Datum.Record(delays));
        fields.put("duplicate", row(settings.duplicate()));
        fields.put("reorder", row(settings.reorder()));
        return new Datum.Record(fields);
    }

    private static Datum row(Collection<MessageType> types) {
        List<Datum> names =
                types.stream().<Datum>map(type -> new Datum.Text(type.name())).toList();
        return new Datum.Row(names);
    }
}
