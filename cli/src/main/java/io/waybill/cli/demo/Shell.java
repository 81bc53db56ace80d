package io.waybill.cli.demo;

/** Runner of commands in the demo's home. */
@FunctionalInterface
public interface Shell {

    /**
     * Runs a command, whose output appears in the demo's output.
     *
     * @return the exit code
     */
    int run(String... args);
}
