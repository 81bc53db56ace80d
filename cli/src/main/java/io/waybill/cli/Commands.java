package io.waybill.cli;

import io.waybill.cli.bench.BenchCommand;
import io.waybill.cli.call.CallCommand;
import io.waybill.cli.call.OperationsCommand;
import io.waybill.cli.command.Build;
import io.waybill.cli.command.CommandGroup;
import io.waybill.cli.command.ErrorLines;
import io.waybill.cli.command.StandardOutput;
import io.waybill.cli.command.Surroundings;
import io.waybill.cli.dead.DeadCommand;
import io.waybill.cli.doctor.DoctorCommand;
import io.waybill.cli.journal.JournalCommand;
import io.waybill.cli.lifecycle.ReloadCommand;
import io.waybill.cli.lifecycle.RestartCommand;
import io.waybill.cli.lifecycle.StopCommand;
import io.waybill.cli.replay.ReplayCommand;
import io.waybill.cli.tool.HelpCommand;
import io.waybill.cli.tool.ToolLine;
import io.waybill.cli.top.TopCommand;
import io.waybill.cli.workers.RRefsCommand;
import io.waybill.cli.workers.WorkersCommand;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.regex.Pattern;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.IVersionProvider;

/**
 * Table of the subcommands. Only the requested one is loaded; all are loaded if none is named, as for help and
 * completion.
 *
 * <p>A new subcommand is one more line here.
 */
public final class Commands {

    private static final int HELP_COLUMNS = 100;
    private static final String END_OF_OPTIONS = "--";
    private static final List<String> HELP = List.of("-h", "--help");
    private static final List<String> ALL_SUBCOMMANDS = HELP;
    private static final Pattern TOOL_NAME = Pattern.compile("[a-z][a-z0-9-]*");
    private static final Map<String, Function<Surroundings, Object>> ALL = new LinkedHashMap<>();

    static {
        ALL.put("demo", DemoCommand::new);
        ALL.put("node", NodeCommand::new);
        ALL.put("up", UpCommand::new);
        ALL.put("stop", StopCommand::new);
        ALL.put("restart", RestartCommand::new);
        ALL.put("reload", ReloadCommand::new);
        ALL.put("call", CallCommand::new);
        ALL.put("operations", OperationsCommand::new);
        ALL.put("workers", WorkersCommand::new);
        ALL.put("top", TopCommand::new);
        ALL.put("rrefs", RRefsCommand::new);
        ALL.put("bundle", BundleCommand::new);
        ALL.put("journal", JournalCommand::new);
        ALL.put("dead", DeadCommand::new);
        ALL.put("replay", ReplayCommand::new);
        ALL.put("bench", BenchCommand::line);
        ALL.put("doctor", DoctorCommand::new);
        ALL.put("completion", CompletionCommand::new);
        ALL.put("prepare", PrepareCommand::new);
        ALL.put("help", HelpCommand::new);
    }

    private Commands() {}

    /** The top-level command, which has no function without a subcommand. */
    @Command(
            name = "waybill",
            mixinStandardHelpOptions = true,
            versionProvider = Version.class,
            header = "A durable message broker for programs that share a host.",
            synopsisSubcommandLabel = "COMMAND",
            footer = {
                "",
                "Examples:",
                "  waybill demo                                 shows the main job on real input",
                "  waybill node --name ps0                      runs a node",
                "  waybill call --to ps0 aten::mm a.npy b.npy   calls it",
                "  waybill COMMAND --help                       explains a command"
            })
    static final class Root {}

    /** Output of {@code --version}. */
    static final class Version implements IVersionProvider {
        @Override
        public String[] getVersion() {
            return new String[] {"waybill " + Build.version()};
        }
    }

    static boolean has(String name) {
        return ALL.containsKey(name);
    }

    /** Creates the command line with the subcommands that {@code args} need. */
    public static CommandLine line(Surroundings surroundings, String... args) {
        CommandLine line = new CommandLine(new Root());
        Function<Surroundings, Object> only = args.length == 0 ? null : ALL.get(args[0]);
        if (only != null && !args[0].equals("help")) {
            add(line, args[0], only.apply(surroundings), List.of(args).subList(1, args.length));
        } else if (isOfBundle(args)) {
            addToolLine(line, surroundings, List.of(args));
        } else {
            ALL.forEach((name, factory) -> add(line, name, factory.apply(surroundings), ALL_SUBCOMMANDS));
        }
        ErrorLines errors = new ErrorLines();
        line.setOut(surroundings.out());
        line.setErr(surroundings.err());
        line.setParameterExceptionHandler(errors);
        line.setExecutionExceptionHandler(errors);
        line.setUnmatchedOptionsArePositionalParams(false);
        line.setExpandAtFiles(false);
        line.setUsageHelpWidth(HELP_COLUMNS);
        line.getSubcommands().values().forEach(Commands::addVersion);
        if (args.length > 0 && args[0].equals("call")) {
            // an argument may be a negative number
            line.getSubcommands().get("call").setUnmatchedOptionsArePositionalParams(true);
        }
        return line;
    }

    /** Adds a command with the subcommands that its arguments may name: one, all or none of them. */
    private static void add(CommandLine line, String name, Object command, List<String> args) {
        CommandLine added = command instanceof CommandLine made ? made : new CommandLine(command);
        if (command instanceof CommandGroup group) {
            Map<String, Class<?>> all = group.subcommands();
            boolean isNamed = args.stream().anyMatch(all::containsKey);
            boolean mayMeanAny = args.stream().anyMatch(word -> !word.startsWith("-") || HELP.contains(word));
            all.forEach((subcommand, type) -> {
                if (isNamed ? args.contains(subcommand) : mayMeanAny) {
                    added.addSubcommand(subcommand, type);
                }
            });
        }
        line.addSubcommand(name, added);
    }

    /** Returns whether a command is not built in, and names a node that may offer it. */
    private static boolean isOfBundle(String... args) {
        return args.length > 0
                && TOOL_NAME.matcher(args[0]).matches()
                && !ALL.containsKey(args[0])
                && List.of(optionsOf(args)).stream()
                        .anyMatch(word -> word.equals(ToolLine.NODE) || word.startsWith(ToolLine.NODE + "="));
    }

    /** Returns the words before {@code --}. */
    private static String[] optionsOf(String... args) {
        int end = List.of(args).indexOf(END_OF_OPTIONS);
        return end < 0 ? args : Arrays.copyOf(args, end);
    }

    private static void addToolLine(CommandLine line, Surroundings surroundings, List<String> args) {
        int end = args.indexOf(END_OF_OPTIONS);
        List<String> rest = end < 0 ? List.of() : args.subList(end, args.size());
        line.addSubcommand(args.get(0), new ToolLine(surroundings, args.get(0), rest));
    }

    private static void addVersion(CommandLine line) {
        line.getCommandSpec().versionProvider(new Version());
        line.getSubcommands().values().forEach(Commands::addVersion);
    }

    /** Runs a command and returns its exit code, which is nonzero if output was lost. */
    public static int run(Surroundings surroundings, String... args) {
        CommandLine line = line(surroundings, args);
        if (args.length == 0) {
            line.usage(surroundings.err());
            surroundings.err().flush();
            return ErrorLines.USAGE;
        }
        int code = line.execute(isOfBundle(args) ? optionsOf(args) : args);
        int outputCode = StandardOutput.exitCode(surroundings.out());
        surroundings.err().flush();
        return code == 0 ? outputCode : code;
    }
}
