package io.waybill.cli.command;

import io.waybill.cli.Main;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;

/**
 * Environment of a command: all that it may read of its process. Created by {@link Main}, or by a test.
 *
 * @param out for results
 * @param err for errors, hints and progress
 * @param watcher reader of {@code err}
 * @param home default home; empty for a user without a directory
 * @param distribution the directory that holds {@code bin}, {@code conf}, {@code lib} and {@code bundles}; empty when
 *     the classes run from elsewhere
 * @param temporary parent of temporary directories
 * @param java the Java runtime, such as {@code 17.0.15 in /usr/lib/jvm/java-17}
 * @param environment environment variables for a process of the same distribution
 * @param columns of the terminal of {@code out}; 0 if it is none
 * @param person lines that a person types at the terminal of standard input; empty if it is none
 */
public record Surroundings(
        PrintWriter out,
        PrintWriter err,
        Watcher watcher,
        Optional<Path> home,
        Optional<Path> distribution,
        Path temporary,
        String java,
        Map<String, String> environment,
        int columns,
        Supplier<Optional<BufferedReader>> person) {

    /** Reader of standard error. */
    public enum Watcher {
        /** A person at a terminal: progress is shown. */
        PERSON,
        /** A file or a program. */
        PROGRAM
    }

    public Surroundings {
        Objects.requireNonNull(out);
        Objects.requireNonNull(err);
        Objects.requireNonNull(watcher);
        Objects.requireNonNull(home);
        Objects.requireNonNull(distribution);
        Objects.requireNonNull(temporary);
        Objects.requireNonNull(java);
        Objects.requireNonNull(person);
        environment = Map.copyOf(environment);
    }

    /** Creates the environment of a command without a terminal for results or input. */
    public Surroundings(
            PrintWriter out,
            PrintWriter err,
            Watcher watcher,
            Path home,
            Optional<Path> distribution,
            Path temporary,
            String java,
            Map<String, String> environment) {
        this(out, err, watcher, Optional.of(home), distribution, temporary, java, environment, 0, Optional::empty);
    }

    /** Returns the distribution, for a command that requires it. */
    public Path requireDistribution() throws CommandFailedException {
        return distribution.orElseThrow(
                () -> new CommandFailedException(
                        "this needs the distribution's bundles: run bin/waybill of a distribution, or ./waybill of a checkout"));
    }

    /** Returns a copy with another home. */
    public Surroundings withHome(Path other) {
        return new Surroundings(
                out, err, watcher, Optional.of(other), distribution, temporary, java, environment, columns, person);
    }

    /** Returns a copy with a person at the terminal. */
    public Surroundings withPerson(Supplier<Optional<BufferedReader>> other) {
        return new Surroundings(out, err, watcher, home, distribution, temporary, java, environment, columns, other);
    }

    /**
     * Asks the person at the terminal for a confirmation.
     *
     * @param question without the question mark
     * @param instead option that confirms in advance, such as {@code --yes}
     * @throws CommandFailedException unless y or yes is typed, and without a terminal; then the command must not change
     *     anything
     */
    public void confirm(String question, String instead) throws CommandFailedException, IOException {
        BufferedReader terminal = person.get()
                .orElseThrow(() -> new CommandFailedException("nothing is changed: expected " + instead
                        + " or a terminal at which to ask, found neither; " + question + "? Repeat with " + instead
                        + " if so"));
        err.print(question + "? [y/N] ");
        err.flush();
        String typed = terminal.readLine();
        if (typed == null || !Set.of("y", "yes").contains(typed.strip().toLowerCase(Locale.ROOT))) {
            throw new CommandFailedException("nothing is changed: expected y, found something else");
        }
    }
}
