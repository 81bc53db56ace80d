package io.waybill.cli.replay;

import io.waybill.cli.command.CommandFailedException;
import io.waybill.cli.command.HomeOption;
import io.waybill.cli.command.Surroundings;
import io.waybill.cli.command.UsageException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** The options that say where the recorded calls are. */
final class SourceOptions {

    @Mixin
    private HomeOption home;

    @Option(
            names = "--slice",
            paramLabel = "FILE",
            description = "Replays a slice, as waybill journal slice writes it, instead of a home.")
    private Path slice;

    @Spec(Spec.Target.MIXEE)
    private CommandSpec command;

    /** Returns the path of the home or the slice, which exists. */
    Path path(Surroundings surroundings) throws UsageException, CommandFailedException {
        if (slice != null && command.commandLine().getParseResult().hasMatchedOption("--home")) {
            throw new UsageException("--home and --slice exclude each other");
        }
        Path path = (slice == null ? home.path(surroundings) : slice)
                .toAbsolutePath()
                .normalize();
        if (!Files.exists(path)) {
            throw new CommandFailedException("no " + (slice == null ? "home" : "slice") + " at " + path);
        }
        return path;
    }

    /** Returns the options as written on a command line. */
    List<String> words(Path path) {
        return List.of(slice == null ? "--home" : "--slice", path.toString());
    }
}
