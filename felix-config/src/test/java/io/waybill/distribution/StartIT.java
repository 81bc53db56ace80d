package io.waybill.distribution;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.Message;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.handler.Outbox;
import io.waybill.worker.Waybill;
import io.waybill.worker.Worker;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * What a program of its own loads until it has joined, beside the classes that Java maps: each costs about a third of a millisecond, one that is made at run time more. The
 * limits are what is loaded now on Java 17 and 25, and some for what other threads load at the same time. Lower them with it; raise them for nothing that a first call
 * can do without.
 */
@Timeout(value = 120, unit = TimeUnit.SECONDS)
class StartIT {

    private static final Path DISTRIBUTION = Path.of(System.getProperty("waybill.test.distribution"));
    private static final int MAX_CLASSES = 2_060;
    private static final int STARTS = 3;
    private static final int MAX_MADE = 435;
    private static final int MAX_OF_LOG = 55;
    private static final int MAX_OF_WAYBILL = 480;
    private static final String MADE = "made at run time";
    private static final String OF_JAVA = "Java's own archive";
    private static final Pattern LOADED = Pattern.compile("\\[.*] (\\S+)(?: \\(.*\\))? source: (.*?) *");

    @TempDir
    Path directory;

    /** Joins, and says so in the log of classes. Argument: the home. */
    static final class Program implements MessageHandler {

        public static void main(String[] arguments) throws IOException {
            try (Worker worker = Waybill.connect(Path.of(arguments[0]), "program")
                    .with("text.count", new Program())
                    .join()) {
                Joined.atOnce();
                System.out.println(worker.info().name());
            }
        }

        @Override
        public void handle(Message message, Outbox outbox) {
            // nothing calls it
        }
    }

    /** Is loaded when the program has joined. */
    static final class Joined {
        static void atOnce() {
            // that it is loaded says all
        }
    }

    /**
     * Returns the classes of a start, by owner. The threads beside the join load theirs sooner or later, so that they are
     * more on a busy machine: of several starts the one with the fewest counts.
     */
    private Map<String, Integer> fewestClasses() throws Exception {
        Map<String, Integer> fewest = null;
        for (int i = 0; i < STARTS; i++) {
            Map<String, Integer> found = classes("start-" + i);
            if (fewest == null || sum(found) < sum(fewest)) {
                fewest = found;
            }
        }
        return fewest;
    }

    private static int sum(Map<String, Integer> byOwner) {
        return byOwner.values().stream().mapToInt(Integer::intValue).sum();
    }

    private Map<String, Integer> classes(String name) throws Exception {
        Path log = directory.resolve(name + ".log");
        List<String> command = List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "@conf/jvm.options",
                "@examples/java.options",
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "-Djava.io.tmpdir=" + directory,
                "-Xlog:class+load:file=" + log,
                "-cp",
                "lib/*:"
                        + Path.of(StartIT.class
                                .getProtectionDomain()
                                .getCodeSource()
                                .getLocation()
                                .toURI()),
                Program.class.getName(),
                directory.resolve(name).toString());
        Process process = new ProcessBuilder(command)
                .directory(DISTRIBUTION.toFile())
                .redirectErrorStream(true)
                .start();
        String output = new String(process.getInputStream().readAllBytes());
        assertThat(process.waitFor()).as(output).isZero();
        assertThat(output.strip().lines().toList())
                .as("the only line, and nothing from the log")
                .contains("program");

        Map<String, Integer> byOwner = byOwner(Files.readAllLines(log));
        byOwner.remove(OF_JAVA); // which costs little, and has more of them in each version
        return byOwner;
    }

    @Test
    void loadsFewClassesUntilItHasJoined() throws Exception {
        Map<String, Integer> byOwner = fewestClasses();
        assertThat(sum(byOwner))
                .as("classes until the program has joined: %s", largest(byOwner))
                .isLessThanOrEqualTo(MAX_CLASSES);
        assertThat(byOwner.get(MADE))
                .as("classes %s: %s", MADE, largest(byOwner))
                .isLessThanOrEqualTo(MAX_MADE);
        assertThat(count(byOwner, "logback-"))
                .as("classes of Logback: %s", largest(byOwner))
                .isLessThanOrEqualTo(MAX_OF_LOG);
        assertThat(count(byOwner, "broker-"))
                .as("classes of Waybill: %s", largest(byOwner))
                .isLessThanOrEqualTo(MAX_OF_WAYBILL);
        assertThat(count(byOwner, "rocksdbjni-", "picocli-", "jnr-constants-", "org.apache.felix"))
                .as("classes of what no start needs: %s", largest(byOwner))
                .isLessThanOrEqualTo(1); // an exception, by which a method of the index is checked
    }

    /** Counts the classes that are loaded before {@link Joined}, by the jar or the part of Java that has them. */
    private static Map<String, Integer> byOwner(List<String> log) {
        Map<String, Integer> counts = new HashMap<>();
        for (String line : log) {
            Matcher loaded = LOADED.matcher(line);
            if (!loaded.matches()) {
                continue;
            }
            if (loaded.group(1).equals(Joined.class.getName())) {
                return counts;
            }
            counts.merge(owner(loaded.group(1), loaded.group(2)), 1, Integer::sum);
        }
        throw new AssertionError("the program did not join: " + log.size() + " lines of classes");
    }

    private static String owner(String name, String source) {
        if (name.contains("/0x") || source.startsWith("__")) {
            return MADE;
        }
        if (source.startsWith("file:")) {
            String file = source.substring(0, source.length() - (source.endsWith("/") ? 1 : 0));
            return file.substring(file.lastIndexOf('/') + 1);
        }
        return source.startsWith("jrt:") ? source.substring("jrt:/".length()) : OF_JAVA;
    }

    private static int count(Map<String, Integer> byOwner, String... prefixes) {
        int sum = 0;
        for (Map.Entry<String, Integer> each : byOwner.entrySet()) {
            for (String prefix : prefixes) {
                sum += each.getKey().startsWith(prefix) ? each.getValue() : 0;
            }
        }
        return sum;
    }

    private static String largest(Map<String, Integer> byOwner) {
        return byOwner.entrySet().stream()
                .sorted(Map.Entry.<String, Integer>comparingByValue().reversed())
                .limit(12)
                .map(each -> each.getValue() + " " + each.getKey())
                .toList()
                .toString();
    }
}
