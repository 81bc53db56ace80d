package io.waybill.cli.demo;

import io.waybill.cli.show.ShellWord;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;

/** Output of the demo: numbered steps, the commands as a user would type them, and their results. For one thread. */
public final class Story {

    private static final String INDENT = "   ";

    private final PrintWriter out;
    private final String directory;
    private int steps;

    /**
     * Creates the output.
     *
     * @param directory directory whose files are shown by their names alone
     */
    public Story(PrintWriter out, Path directory) {
        this.out = out;
        this.directory = directory + "/";
    }

    /** Begins a step. */
    void step(String sentence) {
        out.println();
        out.println(++steps + ". " + sentence);
    }

    /** Prints a result. */
    void explain(String form, Object... values) {
        out.println(INDENT + String.format(Locale.ROOT, form, values));
        out.flush();
    }

    /** Shows a command before it runs. */
    void command(String... args) {
        out.println(INDENT + "$ waybill "
                + List.of(args).stream()
                        .map(word -> ShellWord.quoted(word.replace(directory, "")))
                        .collect(Collectors.joining(" ")));
        out.flush();
    }
}
