package io.waybill.crash;

import java.util.List;

/** What the processes of a run have in their JVM beside the broker. Immutable. */
final class AgentOptions {

    List<String> jvmOptions(String point) {
        if (!point.isEmpty()) {
            throw new IllegalArgumentException("no such point: " + point);
        }
        return List.of();
    }
}
