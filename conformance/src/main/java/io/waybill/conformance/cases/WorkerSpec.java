package io.waybill.conformance.cases;

import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.databind.JsonNode;
import io.waybill.api.MessageType;
import io.waybill.api.WorkerInfo;
import io.waybill.home.JoinOptions;
import io.waybill.injection.InjectionSettings;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;

/**
 * A worker that cases need.
 *
 * @param kind what it hosts
 * @param id its worker id; null for the one that its place in the file gives it
 * @param timeout of its calls that name none; null for the broker's own
 * @param inject faults that it makes on purpose; null for none
 */
public record WorkerSpec(@JsonProperty(required = true) Kind kind, Integer id, Duration timeout, Faults inject) {

    /** Kind of a worker. */
    public enum Kind {
        /** A Java program: no bundles. */
        PLAIN,
        /** A Java program with operators and autograd, without bundles. */
        AUTOGRAD,
        /** A node with the bundles of the distribution. */
        NODE
    }

    /** Faults by message type, see {@link InjectionSettings}. */
    public record Faults(
            Set<MessageType> fail,
            Set<MessageType> drop,
            Integer times,
            Map<String, Duration> delay,
            Set<MessageType> duplicate,
            Set<MessageType> reorder) {}

    /** Reads and checks one: its kind alone, or an object. */
    public static WorkerSpec of(String name, JsonNode json) {
        try {
            WorkerInfo.requireName(name);
            WorkerSpec spec =
                    CaseJson.convert(json.isTextual() ? CaseJson.object().set("kind", json) : json, WorkerSpec.class);
            spec.injection();
            int id = spec.id == null ? 0 : spec.id;
            CaseFile.require(
                    id >= JoinOptions.ANY_ID && id <= WorkerInfo.MAX_ID,
                    "id must be a whole number from " + JoinOptions.ANY_ID + " to " + WorkerInfo.MAX_ID + ", not "
                            + id);
            return spec;
        } catch (IllegalArgumentException e) {
            throw new CaseFormatException("worker " + name + ": " + e.getMessage(), e);
        }
    }

    /** The faults as a worker takes them. */
    public InjectionSettings injection() {
        if (inject == null) {
            return InjectionSettings.NONE;
        }
        Map<MessageType, Duration> delays = new LinkedHashMap<>();
        inject.delay.forEach((type, time) -> delays.put(InjectionSettings.type(type), time));
        int times = inject.times == null ? InjectionSettings.NONE.times() : inject.times;
        return new InjectionSettings(inject.fail, inject.drop, times, delays, inject.duplicate, inject.reorder);
    }
}
