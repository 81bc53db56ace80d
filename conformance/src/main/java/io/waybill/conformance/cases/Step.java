package io.waybill.conformance.cases;

import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.databind.JsonNode;
import io.waybill.api.Invocation;
import io.waybill.home.JoinOptions;
import java.time.Duration;
import java.util.List;
import java.util.Map;

/**
 * One step of a case. The reference of the format says which fields each verb has; those that are absent are null or
 * empty, or have their default.
 *
 * @param on the worker's name
 * @param within how long all of it may take
 * @param note for people
 * @param expect the demands on its result; null for anything but an error
 */
public record Step(
        @JsonProperty(required = true) String on,
        @JsonProperty(value = "do", required = true) Verb verb,
        Duration within,
        String note,
        Expected expect,
        JsonNode to,
        String op,
        List<JsonNode> args,
        Map<String, JsonNode> kwargs,
        Duration timeout,
        Invocation.Mode mode,
        Integer times,
        String as,
        @JsonProperty("for") JsonNode sent,
        boolean together,
        boolean failed,
        List<JsonNode> calls,
        JsonNode value,
        JsonNode ref,
        String gate,
        Integer count,
        String name,
        Integer id,
        JsonNode context,
        Integer driver,
        List<JsonNode> roots,
        boolean retain,
        boolean fast,
        Double factor) {

    private static final Duration WITHIN_DEFAULT = Duration.ofSeconds(60);

    public Step {
        within = within == null ? WITHIN_DEFAULT : within;
        mode = mode == null ? Invocation.Mode.DIRECT : mode;
        times = times == null ? 1 : times;
        count = count == null ? 1 : count;
        id = id == null ? JoinOptions.ANY_ID : id;
    }

    /** Reads and checks one. */
    public static Step of(JsonNode json) {
        Step step = CaseJson.convert(json, Step.class);
        step.verb.check(json);
        return step;
    }
}
