package io.waybill.cli;

import io.waybill.cli.command.Surroundings;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.OutputStream;
import java.io.OutputStreamWriter;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;

/** Entry point of the launcher. The only class of the command that reads the environment and system properties. */
public final class Main {

    /** The distribution's directory, as the launcher found it. */
    static final String DISTRIBUTION_PROPERTY = "waybill.distribution";
    /** Whether standard error is a terminal, as the launcher found out. */
    static final String TERMINAL_PROPERTY = "waybill.terminal";

    /** Columns of the terminal that standard output is, as the launcher found out; not set when it is none. */
    static final String COLUMNS_PROPERTY = "waybill.columns";

    private Main() {}

    public static void main(String[] args) {
        int code = Commands.run(surroundings(System.getenv()), args);
        System.exit(code);
    }

    private static Surroundings surroundings(Map<String, String> environment) {
        return new Surroundings(
                writer(FileDescriptor.out),
                writer(FileDescriptor.err),
                Boolean.getBoolean(TERMINAL_PROPERTY) ? Surroundings.Watcher.PERSON : Surroundings.Watcher.PROGRAM,
                home(environment),
                Optional.ofNullable(System.getProperty(DISTRIBUTION_PROPERTY)).map(Path::of),
                Path.of(System.getProperty("java.io.tmpdir")),
                System.getProperty("java.version") + " in " + System.getProperty("java.home"),
                java(environment),
                Math.max(0, Integer.getInteger(COLUMNS_PROPERTY, 0)));
    }

    private static PrintWriter writer(FileDescriptor descriptor) {
        OutputStream stream = new FileOutputStream(descriptor);
        return new PrintWriter(new OutputStreamWriter(stream, StandardCharsets.UTF_8), true);
    }

    private static Path home(Map<String, String> environment) {
        String home = environment.getOrDefault("WAYBILL_HOME", "");
        if (!home.isEmpty()) {
            return Path.of(home);
        }
        String state = environment.getOrDefault("XDG_STATE_HOME", "");
        // the specification of those directories requires to ignore a relative path
        Path directory =
                state.startsWith("/") ? Path.of(state) : Path.of(System.getProperty("user.home"), ".local", "state");
        return directory.resolve("waybill").resolve("home");
    }

    /** Returns the variables by which a process of the same distribution runs on the same Java. */
    private static Map<String, String> java(Map<String, String> environment) {
        Map<String, String> passed = new HashMap<>();
        passed.put(
                "WAYBILL_JAVA",
                Path.of(System.getProperty("java.home"), "bin", "java").toString());
        return passed;
    }
}
