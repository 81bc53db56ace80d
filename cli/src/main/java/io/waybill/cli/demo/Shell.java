package io.waybill.cli.demo;

/** Runs commands as a user would, in the demo's home. */
@FunctionalInterface
public interface Shell {

    /**
     * Runs a command; what it prints goes where the demo prints.
     *
     * @return its exit code
     */
    int run(String... args);
}
