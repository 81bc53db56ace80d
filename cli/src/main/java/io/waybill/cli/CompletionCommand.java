package io.waybill.cli;

import io.waybill.cli.command.Surroundings;
import java.util.concurrent.Callable;
import picocli.AutoComplete;
import picocli.CommandLine;
import picocli.CommandLine.Command;

/** {@code waybill completion}: a script that completes the command's words in bash and zsh. */
@Command(
        mixinStandardHelpOptions = true,
        name = "completion",
        header = "Prints a completion script for bash and zsh.",
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
    public Integer call() {
        CommandLine all = Commands.line(surroundings);
        surroundings.out().print(AutoComplete.bash("waybill", all));
        surroundings.out().flush();
        return 0;
    }
}
