package io.waybill.syscall;

import ch.qos.logback.classic.Level;
import io.waybill.journal.Durability;
import io.waybill.osgi.jar.BundleRefusedException;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The process whose system calls fail: joins, calls and leaves as it is told, one worker at a time. It speaks in lines that begin with
 * {@code @}; {@link Subject} is the other end.
 */
final class SubjectMain {

    static final String NAME = "subject";

    /** Mapped by the JDK, and so until a buffer is collected. */
    private static final String CURSORS = "/cursors";

    private Member member; // null while none has joined
    private SubjectBundles bundles; // null while there is no framework

    private SubjectMain() {}

    public static void main(String[] arguments) throws Exception {
        ((ch.qos.logback.classic.Logger) LoggerFactory.getLogger(Logger.ROOT_LOGGER_NAME)).setLevel(Level.INFO);
        SubjectMain subject = new SubjectMain();
        say("started");
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            say(subject.obey(line.split(" ")));
        }
        System.exit(3); // the test is gone
    }

    private String obey(String[] words) throws InterruptedException {
        return switch (words[0]) {
            case "join" -> join(Path.of(words[1]), Durability.valueOf(words[2]));
            case "calls" -> "tally " + member.calls(words[1], Integer.parseInt(words[2]));
            case "swap" -> swap();
            case "framework" -> attempt(() -> startFramework(Path.of(words[1])));
            case "install" -> attempt(() -> bundles.install(Path.of(words[1])));
            case "uninstall" -> attempt(() -> bundles.uninstall(words[1]));
            case "leave" -> leave();
            case "failure" -> "failure " + (member == null ? "" : member.failure());
            case "left" -> "left " + left(words[1]);
            case "collect" -> collect();
            default -> "what? " + words[0];
        };
    }

    private String join(Path home, Durability durability) {
        try {
            member = Member.join(home, NAME, durability);
            return "joined";
        } catch (IOException | RuntimeException | Error e) {
            e.printStackTrace(System.out);
            return "failed " + oneLine(e);
        }
    }

    private String swap() {
        try {
            member.swap();
            return "swapped";
        } catch (RuntimeException | Error e) {
            e.printStackTrace(System.out);
            return "failed " + oneLine(e);
        }
    }

    private void startFramework(Path directory) throws IOException {
        bundles = SubjectBundles.start(member.registry(), directory);
        bundles.requireAllTaken();
    }

    /** What is done with a framework or a bundle. */
    private interface Step {
        void run() throws IOException, BundleRefusedException;
    }

    private static String attempt(Step step) {
        try {
            step.run();
            return "done";
        } catch (IOException | BundleRefusedException | RuntimeException | Error e) {
            e.printStackTrace(System.out);
            return "failed " + oneLine(e);
        }
    }

    private String leave() {
        Member leaving = member;
        member = null;
        SubjectBundles closing = bundles;
        bundles = null;
        try {
            if (closing != null) {
                closing.close();
            }
            leaving.close();
            return "ended";
        } catch (IOException | RuntimeException | Error e) {
            e.printStackTrace(System.out);
            return "failed " + oneLine(e);
        }
    }

    /** Collects what Chronicle and the JDK leave open after a failed mapping until its objects are collected. */
    private static String collect() {
        System.gc();
        return "collected";
    }

    private static String oneLine(Throwable e) {
        return (e.getClass().getName() + ": " + e.getMessage()).replaceAll("\\s*\n\\s*", " // ");
    }

    /** Returns the threads of the worker, and the open and mapped files below a home. */
    private static String left(String home) {
        TreeSet<String> left = new TreeSet<>();
        for (Thread thread : Thread.getAllStackTraces().keySet()) {
            if (thread.isAlive() && thread.getName().startsWith(NAME)) {
                left.add("thread " + thread.getName());
            }
        }
        try (Stream<Path> files = Files.list(Path.of("/proc/self/fd"))) {
            for (Path file : files.toList()) {
                add(left, "open ", Files.readSymbolicLink(file).toString(), home);
            }
        } catch (IOException e) {
            // a descriptor that was closed meanwhile: asked for again
            left.add("unknown " + e);
        }
        try (Stream<String> lines = Files.lines(Path.of("/proc/self/maps"))) {
            lines.forEach(line -> add(left, "mapped ", line.substring(line.lastIndexOf(' ') + 1), home));
        } catch (IOException e) {
            left.add("unknown " + e);
        }
        return String.join("|", left);
    }

    private static void add(TreeSet<String> left, String what, String file, String home) {
        if (file.startsWith(home) && !file.endsWith(CURSORS)) {
            left.add(what + file.substring(home.length()));
        }
    }

    private static void say(String line) {
        System.out.println("@" + line);
    }
}
