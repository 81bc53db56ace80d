package io.waybill.cli;

import io.waybill.cli.command.Surroundings;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.Callable;
import picocli.AutoComplete;
import picocli.CommandLine;
import picocli.CommandLine.Command;

/**
 * {@code waybill completion}: a script that completes in bash and zsh the command's words, from picocli, and names of
 * workers, operations and bundles, which it reads from the home's files.
 */
@Command(
        mixinStandardHelpOptions = true,
        name = "completion",
        header = "Prints a script that completes commands, options and names of the home in bash and zsh.",
        footer = {
            "",
            "Examples:",
            "  source <(waybill completion)                             this shell",
            "  waybill completion > ~/.local/share/bash-completion/completions/waybill   every bash"
        })
final class CompletionCommand implements Callable<Integer> {

    private final Surroundings surroundings;

    CompletionCommand(Surroundings surroundings) {
        this.surroundings = surroundings;
    }

    @Override
    public Integer call() throws IOException {
        CommandLine all = Commands.line(surroundings);
        surroundings.out().print(AutoComplete.bash("waybill", all));
        surroundings.out().print(names());
        surroundings.out().flush();
        return 0;
    }

    /** Returns the shell functions that complete names; they come last, so their definitions win. */
    private static String names() throws IOException {
        try (InputStream script = CompletionCommand.class.getResourceAsStream("completion.bash")) {
            return new String(script.readAllBytes(), StandardCharsets.UTF_8);
        }
    }
}
