package io.waybill.cli;

import io.waybill.api.CallException;
import io.waybill.cli.call.CallingWorker;
import io.waybill.cli.command.Build;
import io.waybill.cli.command.CommandFailedException;
import io.waybill.cli.command.ExitCleanup;
import io.waybill.cli.command.NewDirectory;
import io.waybill.cli.command.ScratchDirectory;
import io.waybill.cli.command.StandardOutput;
import io.waybill.cli.command.Surroundings;
import io.waybill.cli.demo.Demo;
import io.waybill.cli.demo.DemoFailedException;
import io.waybill.cli.demo.DemoNode;
import io.waybill.cli.demo.Shell;
import io.waybill.cli.demo.Story;
import io.waybill.cli.show.ShellWord;
import io.waybill.home.Home;
import io.waybill.host.Host;
import io.waybill.tensor.HostMemory;
import io.waybill.tensor.memory.NativeMemory;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code waybill demo}: the main job on real input, in a directory that is removed afterwards, or kept. */
@Command(
        mixinStandardHelpOptions = true,
        name = "demo",
        header = "Shows the main job on real input, with processes and files of its own that it removes.",
        footer = {"", "Examples:", "  waybill demo", "  waybill demo --keep demo"})
final class DemoCommand implements Callable<Integer> {

    private static final List<String> NODES = List.of("ps0", "ps1");

    private final Surroundings surroundings;

    @Option(
            names = "--keep",
            paramLabel = "DIR",
            description = "Leaves its files, with the home, in this directory; it is made, or must be empty.")
    private Path kept;

    DemoCommand(Surroundings surroundings) {
        this.surroundings = surroundings;
    }

    @Override
    public Integer call() throws IOException, CommandFailedException {
        Path distribution = surroundings.requireDistribution();
        if (kept != null) {
            NewDirectory.make(kept);
            run(leftovers -> kept.toRealPath(), "stay there", distribution);
            sayWhatIsKept(distribution);
            return 0;
        }
        run(this::scratch, "are removed at its end", distribution);
        surroundings.out().println("That was it: no process and no file is left.");
        return 0;
    }

    private void sayWhatIsKept(Path distribution) throws IOException {
        String home = ShellWord.quoted(kept.resolve("home").toString());
        String bundle = ShellWord.quoted(wordCount(distribution).toString());
        surroundings
                .out()
                .println("That was it: no process is left. What happened is on record, and can be run again:");
        surroundings.out().println("   $ waybill journal list --home " + home);
        surroundings.out().println("   $ waybill replay --home " + home + " --outcome ok --bundle " + bundle);
    }

    /** Directory of the demo's files. */
    @FunctionalInterface
    private interface Place {
        Path of(ExitCleanup leftovers) throws IOException;
    }

    private Path scratch(ExitCleanup leftovers) throws IOException {
        return leftovers.make(() -> {
            ScratchDirectory scratch = ScratchDirectory.in(surroundings.temporary(), "waybill-demo-");
            leftovers.addDirectory(scratch);
            return scratch.path();
        });
    }

    private void run(Place place, String future, Path distribution) throws IOException, CommandFailedException {
        try (ExitCleanup leftovers = ExitCleanup.watch(surroundings)) {
            Path directory = place.of(leftovers);
            surroundings
                    .out()
                    .println("Waybill " + Build.version() + " on Java " + surroundings.java() + ". All files of"
                            + " this demo lie in " + directory + " and " + future + ".");
            explain(leftovers, directory, distribution, Host.real());
        } catch (DemoFailedException | CallException e) {
            throw new CommandFailedException(e.getMessage(), e);
        }
        surroundings.out().println();
    }

    private void explain(ExitCleanup leftovers, Path directory, Path distribution, Host host)
            throws IOException, DemoFailedException {
        Path path = directory.resolve("home");
        List<DemoNode> nodes = new ArrayList<>();
        Home home = leftovers.make(() -> Home.open(path, host));
        for (String name : NODES) {
            nodes.add(leftovers.make(() -> {
                DemoNode node = DemoNode.start(distribution, name, path, directory, surroundings.environment());
                leftovers.add(node::close);
                return node;
            }));
        }
        Shell shell = args -> {
            int code = Commands.run(surroundings.withHome(path), args);
            StandardOutput.requireOpen(surroundings.out());
            return code;
        };
        Demo demo = new Demo(new Story(surroundings.out(), directory), shell, directory, wordCount(distribution));
        demo.startNodes(nodes);
        demo.multiply(new HostMemory(new NativeMemory(host.calls())));
        try (CallingWorker caller = CallingWorker.join(home)) {
            demo.swap(caller.worker(), host.threads());
            if (Commands.has("journal")) {
                demo.lookUp(caller.worker());
            }
        }
        demo.callPython();
        demo.replay();
        demo.remove();
        demo.stopNodes(nodes);
    }

    private static Path wordCount(Path distribution) throws IOException {
        try (var files = Files.newDirectoryStream(distribution.resolve("examples"), "word-count-*.jar")) {
            for (Path file : files) {
                return file;
            }
        }
        throw new IOException("the distribution lacks examples/word-count-*.jar");
    }
}
