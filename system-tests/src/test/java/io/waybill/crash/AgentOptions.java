package io.waybill.crash;

import io.waybill.crash.agent.Agent;
import io.waybill.crash.agent.Mutant;
import io.waybill.crash.agent.Point;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;

/** What is changed in the processes of a run as they load the broker. Immutable. */
final class AgentOptions {

    private final Path jar;
    private final String mutant;

    /** @param directory where the agent's jar goes */
    AgentOptions(Path directory, String mutant) throws IOException {
        this.jar = Agent.writeJar(directory);
        this.mutant = mutant;
    }

    /** For a process that nothing but the run ends. */
    List<String> none() {
        return mutant.isEmpty()
                ? List.of()
                : List.of(Agent.option(jar, Mutant.valueOf(mutant)), PairedEvents.NOT_REQUIRED);
    }

    /** For a process that kills itself when it comes by a point for the n-th time. */
    List<String> killedAt(Point point, int passings) {
        return List.of(Agent.option(jar, point, passings));
    }
}
