package io.waybill.cli.supervise;

import io.waybill.api.WorkerInfo;
import io.waybill.cli.node.Quantities;
import io.waybill.osgi.SettingsFile;
import io.waybill.worker.poll.Waiting;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Properties;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Consumer;
import java.util.function.Function;

/**
 * Nodes to run, from {@code conf/nodes.properties}. Immutable.
 *
 * @param nodes in the order in which they are started
 * @param restarts settings for restarts of nodes that died
 */
public record NodesFile(List<NodePlan> nodes, RestartSettings restarts) {

    private static final int MAX_NODES = 1000;

    public NodesFile {
        nodes = List.copyOf(nodes);
    }

    /**
     * Reads a file. Relative paths start at its directory, which is also the default directory of the nodes' settings.
     *
     * @throws IOException if it can't be read or is invalid, with all its errors
     */
    public static NodesFile read(Path file) throws IOException {
        try {
            return new Reading(SettingsFile.read(file), file.toAbsolutePath().getParent()).file();
        } catch (IllegalArgumentException e) {
            throw new IOException(file + ": " + e.getMessage(), e);
        }
    }

    /** Reader of keys, which collects errors. */
    private static final class Reading {
        private final Properties properties;
        private final Path directory;
        private final Set<String> known = new TreeSet<>();
        private final List<String> wrong = new ArrayList<>();

        Reading(Properties properties, Path directory) {
            this.properties = properties;
            this.directory = directory;
        }

        NodesFile file() {
            List<NodePlan> plans = new ArrayList<>();
            for (String name : names()) {
                plans.add(plan(name));
            }
            RestartSettings restarts = restarts();
            for (String key : new TreeSet<>(properties.stringPropertyNames())) {
                if (!known.contains(key)) {
                    wrong.add("there is no setting " + key + "; there are " + String.join(", ", known));
                }
            }
            if (!wrong.isEmpty()) {
                throw new IllegalArgumentException(String.join("; ", wrong));
            }
            return new NodesFile(plans, restarts);
        }

        private Set<String> names() {
            known.add("nodes");
            Set<String> names = new LinkedHashSet<>();
            for (String name : words(properties.getProperty("nodes", ""))) {
                try {
                    WorkerInfo.requireName(name);
                    if (!names.add(name)) {
                        wrong.add("nodes: " + name + " stands there twice");
                    }
                } catch (IllegalArgumentException e) {
                    wrong.add("nodes: " + e.getMessage());
                }
            }
            if (names.isEmpty() || names.size() > MAX_NODES) {
                wrong.add("nodes: expected the names of 1 to " + MAX_NODES + " nodes, such as nodes = ops, main, found "
                        + names.size());
            }
            return names;
        }

        private NodePlan plan(String name) {
            String prefix = "node." + name + ".";
            List<String> options = new ArrayList<>();
            Path conf = directory
                    .resolve(take(prefix + "conf", ".", Function.identity()))
                    .normalize();
            option(prefix + "bundles", text -> add(options, "--bundles", directory.resolve(text)));
            option(prefix + "shipped", text -> {
                Quantities.shipped(text);
                add(options, "--shipped", text);
            });
            option(prefix + "waiting", text -> {
                Quantities.choice(Waiting.class, text);
                add(options, "--waiting", text);
            });
            List<String> jvm = take(prefix + "jvm-options", List.of(), Reading::words);
            return new NodePlan(name, conf, options, jvm);
        }

        private static void add(List<String> options, String name, Object value) {
            options.add(name);
            options.add(value.toString());
        }

        private void option(String key, Consumer<String> use) {
            take(key, "", text -> {
                use.accept(text);
                return text;
            });
        }

        private RestartSettings restarts() {
            RestartSettings defaults = RestartSettings.DEFAULTS;
            Duration first = take("restart.first-wait", defaults.first(), Quantities::duration);
            Duration max = take("restart.longest-wait", defaults.max(), Quantities::duration);
            Duration steady = take("restart.steady-after", defaults.steadyAfter(), Quantities::duration);
            try {
                return new RestartSettings(first, max, steady);
            } catch (IllegalArgumentException e) {
                wrong.add(e.getMessage());
                return defaults;
            }
        }

        private <T> T take(String key, T fallback, Function<String, T> read) {
            known.add(key);
            String text = properties.getProperty(key);
            if (text == null) {
                return fallback;
            }
            try {
                return read.apply(text.strip());
            } catch (IllegalArgumentException e) {
                wrong.add(key + ": " + e.getMessage());
                return fallback;
            }
        }

        private static List<String> words(String text) {
            return text.isBlank() ? List.of() : List.of(text.strip().split("[\\s,]+"));
        }
    }
}
