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
 * Environment of a command: everything that it may know of its process. Created by {@link Main}, or by a test.
 *
 * @param out for results
 * @param err for errors, hints and progress
 * @param watcher reader of {@code err}
 * @param home default home; empty for a user without a directory
 * @param distribution the directory that holds {@code bin}, {@code conf}, {@code lib} and {@code bundles}; empty when
 * the classes run from elsewhere
 * @param temporary parent of temporary directories
 * @param java the Java runtime, such as {@code 17.0.15 in /usr/lib/jvm/java-17}
 * @param environment variables that a process of the same distribution gets
 * @param columns of the terminal that {@code out} is; 0 when it is none
 * @param person lines that a person types at the terminal that standard input is; empty when it is none
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

    /** Environment of a command whose results go to no terminal, and at which no person sits. */
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

    /** The distribution, for a command that can't do without. */
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

    /** Returns a copy with a person who types. */
    public Surroundings withPerson(Supplier<Optional<BufferedReader>> other) {
        return new Surroundings(out, err, watcher, home, distribution, temporary, java, environment, columns, other);
    }

    /**
     * Asks the person at the terminal whether to go on.
     *
     * @param question without the question mark
     * @param instead option that says yes, such as {@code --yes}
     * @throws CommandFailedException unless y or yes is typed, and without a terminal; nothing may be changed then
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
