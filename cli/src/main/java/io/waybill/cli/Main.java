package io.waybill.cli;

import io.waybill.cli.command.StandardOutput;
import io.waybill.cli.command.Surroundings;
import io.waybill.cli.command.Terminal;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.OutputStream;
import java.io.OutputStreamWriter;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import picocli.CommandLine.ExitCode;

/** Entry point of the launcher. The only class of the command that reads the environment and system properties. */
public final class Main {

    /** Property with the distribution's directory, set by the launcher. */
    static final String DISTRIBUTION_PROPERTY = "waybill.distribution";
    /** Property that is set if standard error is a terminal, set by the launcher. */
    static final String TERMINAL_PROPERTY = "waybill.terminal";

    /**
     * Property with the number of columns of the terminal on standard output, set by the launcher; absent without a
     * terminal.
     */
    static final String COLUMNS_PROPERTY = "waybill.columns";

    private static final Path OUTPUT = Path.of("/proc/self/fd/1");
    /** Directory of programs' state, below the user's directory. */
    private static final String STATE = ".local/state";

    private Main() {}

    public static void main(String[] args) {
        // one locale, so that formats and messages are the same for every operator and every bundle of a node
        Locale.setDefault(Locale.ROOT);
        Map<String, String> environment = System.getenv();
        Optional<String> misread = GivenText.misread(args, environment);
        if (misread.isPresent()) {
            errors().println("waybill: " + misread.get());
            System.exit(ExitCode.USAGE);
        }
        System.exit(Commands.run(surroundings(environment), args));
    }

    private static Surroundings surroundings(Map<String, String> environment) {
        PrintWriter err = errors();
        return new Surroundings(
                StandardOutput.of(new FileOutputStream(FileDescriptor.out), OUTPUT, err),
                err,
                Boolean.getBoolean(TERMINAL_PROPERTY) ? Surroundings.Watcher.PERSON : Surroundings.Watcher.PROGRAM,
                home(environment, System.getProperty("user.home")),
                Optional.ofNullable(System.getProperty(DISTRIBUTION_PROPERTY)).map(Path::of),
                Path.of(System.getProperty("java.io.tmpdir")),
                System.getProperty("java.version") + " in " + System.getProperty("java.home"),
                java(environment),
                Math.max(0, Integer.getInteger(COLUMNS_PROPERTY, 0)),
                Terminal::lines);
    }

    private static PrintWriter errors() {
        OutputStream stream = new FileOutputStream(FileDescriptor.err);
        return new PrintWriter(new OutputStreamWriter(stream, StandardCharsets.UTF_8), true);
    }

    /** Returns the default home; empty if the user has no directory. */
    static Optional<Path> home(Map<String, String> environment, String userHome) {
        String home = environment.getOrDefault("WAYBILL_HOME", "");
        if (!home.isEmpty()) {
            return Optional.of(Path.of(home));
        }
        // the XDG specification requires to ignore a relative path; and Java returns ? for a user that is not in passwd
        Path user = Path.of(environment.getOrDefault("HOME", ""));
        return Stream.of(
                        Path.of(environment.getOrDefault("XDG_STATE_HOME", "")),
                        user.isAbsolute() ? user.resolve(STATE) : user,
                        Path.of(userHome).resolve(STATE))
                .filter(Path::isAbsolute)
                .findFirst()
                .map(directory -> directory.resolve("waybill").resolve("home"));
    }

    /** Returns the variables that make a process of the same distribution run on the same Java. */
    private static Map<String, String> java(Map<String, String> environment) {
        Map<String, String> passed = new HashMap<>();
        passed.put(
                "WAYBILL_JAVA",
                Path.of(System.getProperty("java.home"), "bin", "java").toString());
        return passed;
    }
}
