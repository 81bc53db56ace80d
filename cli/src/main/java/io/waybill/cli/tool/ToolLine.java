package io.waybill.cli.tool;

import io.waybill.api.Value;
import io.waybill.cli.call.CallingWorker;
import io.waybill.cli.command.CommandFailedException;
import io.waybill.cli.command.HomeOption;
import io.waybill.cli.command.Surroundings;
import io.waybill.cli.command.UsageException;
import io.waybill.cli.show.Json;
import io.waybill.cli.show.Printable;
import io.waybill.cli.show.ValueJson;
import io.waybill.host.Host;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.ExitCode;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Unmatched;

/**
 * {@code waybill NAME ... --node NODE} for a name that is not built in: runs a command that a bundle of the node
 * offers, and shows its output on arrival. The run ends with this process.
 */
@Command(header = "Runs a command of a bundle.")
public final class ToolLine implements Callable<Integer> {

    /** Option that identifies a command of a bundle. */
    public static final String NODE = "--node";

    private final Surroundings surroundings;
    private final String name;
    private final List<String> wordsAfterOptions;

    @Mixin
    private HomeOption home;

    @Option(names = NODE, required = true, paramLabel = "NAME", description = "The node whose bundle has the command.")
    private String node;

    @Option(names = "--json", description = "Prints JSON.")
    private boolean json;

    @Option(names = "--help", description = "Shows the command's help.")
    private boolean help;

    @Unmatched
    private List<String> words = new ArrayList<>();

    /**
     * Creates a command line.
     *
     * @param wordsAfterOptions the words from {@code --} on, which are the command's
     */
    public ToolLine(Surroundings surroundings, String name, List<String> wordsAfterOptions) {
        this.surroundings = surroundings;
        this.name = name;
        this.wordsAfterOptions = List.copyOf(wordsAfterOptions);
    }

    @Override
    public Integer call() throws IOException, CommandFailedException, UsageException {
        Host host = Host.real();
        try (ToolClient client = new ToolClient(CallingWorker.join(home.openExisting(surroundings, host)), node)) {
            if (help) {
                ToolHelp.print(find(client), node, surroundings.out());
            } else {
                run(client);
            }
        }
        return ExitCode.OK;
    }

    private Value find(ToolClient client) throws CommandFailedException, UsageException {
        List<Value> commands = client.list();
        for (Value command : commands) {
            if (ToolFields.text(command, "name").equals(name)) {
                return command;
            }
        }
        List<String> names = commands.stream()
                .map(command -> ToolFields.text(command, "name"))
                .toList();
        throw new UsageException("the node has no command " + name + "; its bundles offer "
                + (names.isEmpty() ? "no commands" : String.join(", ", names)));
    }

    private void run(ToolClient client) throws CommandFailedException, UsageException {
        List<Value> all = new ArrayList<>();
        words.forEach(word -> all.add(Value.of(word)));
        wordsAfterOptions.forEach(word -> all.add(Value.of(word)));
        Value begun = client.call(
                "tools.run", Map.of("name", Value.of(name), "words", new Value.Items(all), "json", Value.of(json)));
        requireSuccess(begun);
        long run = ToolFields.number(begun, "run");
        Thread ending = new Thread(() -> client.end(run), "waybill-end");
        // on Ctrl-C the command ends immediately, and not at the node's timeout
        Runtime.getRuntime().addShutdownHook(ending);
        try {
            show(client, run);
        } finally {
            removeHook(ending);
        }
    }

    private static void removeHook(Thread hook) {
        try {
            Runtime.getRuntime().removeShutdownHook(hook);
        } catch (IllegalStateException e) {
            // the process exits, and the hook runs
        }
    }

    private void show(ToolClient client, long run) throws CommandFailedException, UsageException {
        Map<String, Value> read = Map.of("run", Value.of(run));
        while (true) {
            Value output = client.call("tools.read", read);
            ToolFields.items(output, "items").forEach(this::print);
            if (ToolFields.isTrue(output, "done")) {
                requireSuccess(output);
                return;
            }
            if (surroundings.out().checkError()) { // for example a closed pipe
                client.end(run);
                return;
            }
        }
    }

    private void print(Value item) {
        if (item instanceof Value.Tuple document && document.values().size() == 1) {
            Json.printLine(
                    surroundings.out(),
                    content -> ValueJson.write(document.values().get(0), content));
        } else if (item instanceof Value.Text text) {
            (json ? surroundings.err() : surroundings.out()).println(Printable.of(text.value()));
        }
    }

    private static void requireSuccess(Value outcome) throws CommandFailedException, UsageException {
        int code = (int) ToolFields.number(outcome, "exit");
        String error = ToolFields.text(outcome, "error");
        if (code == ExitCode.USAGE) {
            throw new UsageException(error);
        } else if (code != ExitCode.OK) {
            throw new CommandFailedException(code, error);
        }
    }
}
