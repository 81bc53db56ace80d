package io.waybill.cli.dead;

import io.waybill.api.MessageId;
import io.waybill.cli.call.NpyTensors;
import io.waybill.cli.command.CommandFailedException;
import io.waybill.cli.command.DurationOption;
import io.waybill.cli.command.ErrorLines;
import io.waybill.cli.command.HomeOption;
import io.waybill.cli.command.StandardOutput;
import io.waybill.cli.command.Surroundings;
import io.waybill.cli.command.UsageException;
import io.waybill.cli.select.MessageIds;
import io.waybill.cli.show.Json;
import io.waybill.home.Home;
import io.waybill.host.Host;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.ParentCommand;
import picocli.CommandLine.Spec;

/** {@code waybill dead resend}: sends failed calls again, each once. */
@Command(
        mixinStandardHelpOptions = true,
        name = "resend",
        header = "Sends failed calls again, each as a new call, one after the other.",
        description = {
            "",
            "A call that was sent again is refused, also if that command was killed: the error names the new call. If"
                    + " the new call failed, send that one again by its own id. The handler of a failed call may have"
                    + " run, in part or as a whole.",
            ""
        },
        footer = {
            "",
            "Examples:",
            "  waybill dead resend 3.1041",
            "  waybill dead resend 3.1041 --edit amount:=1500 --edit note='by hand'",
            "  waybill dead list --code TIMED_OUT --json | jq -r .id | waybill dead resend - --timeout 5m",
            "",
            "Exit code: 0 when each call got a response, 1 when one failed or was refused, 2 for wrong usage."
        })
final class ResendCommand implements Callable<Integer> {

    private static final String STANDARD_INPUT = "-";

    @ParentCommand
    private DeadCommand dead;

    @Spec
    private CommandSpec spec;

    @Mixin
    private HomeOption home;

    @Parameters(
            paramLabel = "ID",
            arity = "1..*",
            description = "Ids of failed calls, such as 3.1041; - reads them from standard input, one per line.")
    private List<String> ids = List.of();

    @Option(
            names = "--edit",
            paramLabel = "FIELD:=VALUE|FIELD=TEXT",
            description = "Sends this field in place of the recorded one, as waybill call writes it. May be repeated.")
    private List<String> edits = List.of();

    @Option(
            names = "--timeout",
            paramLabel = "TIME",
            converter = DurationOption.class,
            description = "How long to wait for each, such as 500ms or 5s; 0 for no limit. Default: 60s.")
    private Duration timeout;

    @Option(names = "--again", description = "Also calls that were sent again before.")
    private boolean again;

    @Option(names = "--nested", description = "Also calls that handlers made.")
    private boolean nested;

    @Option(names = "--json", description = "Prints a line of JSON for each call that was sent.")
    private boolean json;

    @Override
    public Integer call() throws IOException, UsageException, CommandFailedException {
        Edits edited = new Edits(edits);
        edited.parse(NpyTensors.checked()); // syntax errors are reported before any action
        List<Long> failed = parsed();
        Surroundings surroundings = dead.surroundings();
        Home opened = home.openExisting(surroundings, Host.real());
        boolean allOk = true;
        try (Resender resender = Resender.join(opened, surroundings)) {
            for (long id : failed) {
                allOk &= isOk(resender, id, new Resender.Options(edited, timeout, again, nested));
            }
        }
        return allOk ? 0 : ErrorLines.FAILED;
    }

    private List<Long> parsed() throws IOException, UsageException {
        List<Long> parsed = new ArrayList<>();
        for (String word : ids.equals(List.of(STANDARD_INPUT)) ? lines() : ids) {
            parsed.add(MessageIds.parse(word));
        }
        return parsed;
    }

    private static List<String> lines() throws IOException {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        return in.lines().map(String::strip).filter(line -> !line.isEmpty()).toList();
    }

    private boolean isOk(Resender resender, long id, Resender.Options options) throws IOException, UsageException {
        try {
            Resent sent = resender.send(id, options);
            if (json) {
                Json.printLine(dead.surroundings().out(), sent::write);
            } else if (sent.isOk()) {
                dead.surroundings().out().println(sent.text());
                dead.surroundings().out().flush();
            }
            if (!sent.isOk()) {
                ErrorLines.print(spec.commandLine(), sent.text());
            }
            StandardOutput.requireOpen(dead.surroundings().out());
            return sent.isOk();
        } catch (CommandFailedException e) {
            ErrorLines.print(spec.commandLine(), MessageId.text(id) + " is not sent again: " + e.getMessage());
            return false;
        }
    }
}
