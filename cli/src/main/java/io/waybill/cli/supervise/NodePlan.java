package io.waybill.cli.supervise;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * Description of one node in a file. Immutable.
 *
 * @param name name of the worker
 * @param conf directory of its settings
 * @param options of {@code waybill node}, in addition to its name, its home and its settings
 * @param jvmOptions of its JVM, in addition to the distribution's; each without blanks
 */
public record NodePlan(String name, Path conf, List<String> options, List<String> jvmOptions) {

    private static final String JVM_OPTIONS = "WAYBILL_JAVA_OPTS";

    public NodePlan {
        options = List.copyOf(options);
        jvmOptions = List.copyOf(jvmOptions);
    }

    /**
     * Creates a process of the node, not yet started. It stops at the end of its standard input, so that it does not
     * survive its parent.
     *
     * @param defaults options of its JVM that those of the environment and its own override
     */
    public ProcessBuilder process(
            Path distribution, Path home, Map<String, String> environment, List<String> defaults) {
        List<String> words = new ArrayList<>(List.of(
                distribution.resolve("bin").resolve("waybill").toString(),
                "node",
                "--name",
                name,
                "--home",
                home.toString(),
                "--conf",
                conf.toString(),
                "--supervised"));
        words.addAll(options);
        ProcessBuilder builder = new ProcessBuilder(words);
        builder.environment().putAll(environment);
        String all = String.join(
                        " ",
                        String.join(" ", defaults),
                        builder.environment().getOrDefault(JVM_OPTIONS, ""),
                        String.join(" ", jvmOptions))
                .strip();
        if (!all.isEmpty()) {
            builder.environment().put(JVM_OPTIONS, all);
        }
        return builder;
    }
}
