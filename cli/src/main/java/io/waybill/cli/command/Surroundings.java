package io.waybill.cli.command;

import io.waybill.cli.Main;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;

/**
 * Where a command runs: all that it may know of the process around it. Made by {@link Main}, or by a test.
 *
 * @param out for results
 * @param err for errors, hints and progress
 * @param watcher who reads {@code err}
 * @param home where a command looks that is not told another home
 * @param distribution the directory that holds {@code bin}, {@code conf}, {@code lib} and {@code bundles}; empty when the classes run
 *     from elsewhere
 * @param temporary where short-lived directories are made
 * @param java what runs this, such as {@code 17.0.15 in /usr/lib/jvm/java-17}
 * @param environment variables that a process of the same distribution gets
 */
public record Surroundings(
        PrintWriter out,
        PrintWriter err,
        Watcher watcher,
        Path home,
        Optional<Path> distribution,
        Path temporary,
        String java,
        Map<String, String> environment) {

    /** Who reads standard error. */
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

    /** The distribution, for a command that can't do without. */
    public Path requireDistribution() throws CommandFailedException {
        return distribution.orElseThrow(
                () -> new CommandFailedException(
                        "this needs the distribution's bundles: run bin/waybill of a distribution, or ./waybill of a checkout"));
    }

    /** The same with another home. */
    public Surroundings withHome(Path other) {
        return new Surroundings(out, err, watcher, other, distribution, temporary, java, environment);
    }
}
