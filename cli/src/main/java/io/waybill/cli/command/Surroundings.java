package io.waybill.cli.command;

import io.waybill.cli.Main;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;

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
        int columns) {

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
        environment = Map.copyOf(environment);
    }

    /** Environment of a command whose results go to no terminal. */
    public Surroundings(
            PrintWriter out,
            PrintWriter err,
            Watcher watcher,
            Path home,
            Optional<Path> distribution,
            Path temporary,
            String java,
            Map<String, String> environment) {
        this(out, err, watcher, Optional.of(home), distribution, temporary, java, environment, 0);
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
                out, err, watcher, Optional.of(other), distribution, temporary, java, environment, columns);
    }
}
