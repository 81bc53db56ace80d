package io.waybill.cli.select;

import io.waybill.cli.command.CommandFailedException;
import io.waybill.cli.command.HomeOption;
import io.waybill.cli.command.ScanProgress;
import io.waybill.cli.command.Surroundings;
import io.waybill.cli.command.UsageException;
import io.waybill.host.Host;
import io.waybill.query.HomeJournals;
import io.waybill.query.StoredMessages;
import io.waybill.replay.slice.SliceMessages;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Options that name the recording: a home, or a slice of one. */
public final class SourceOptions {

    @Mixin
    private HomeOption home;

    @Option(
            names = "--slice",
            paramLabel = "FILE",
            description = "Reads a slice, as waybill journal slice writes it, instead of a home.")
    private Path slice;

    @Spec(Spec.Target.MIXEE)
    private CommandSpec command;

    /** Returns the path of the home or the slice, which exists. */
    public Path path(Surroundings surroundings) throws UsageException, CommandFailedException {
        requireOne();
        Path path = (slice == null ? home.path(surroundings) : slice)
                .toAbsolutePath()
                .normalize();
        if (!Files.exists(path)) {
            throw new CommandFailedException("no " + (slice == null ? "home" : "slice") + " at " + path);
        }
        return path;
    }

    private void requireOne() throws UsageException {
        if (slice != null && command.commandLine().getParseResult().hasMatchedOption("--home")) {
            throw new UsageException("--home and --slice exclude each other");
        }
    }

    /** Returns whether a slice was named. */
    public boolean isSlice() {
        return slice != null;
    }

    /** Opens the journals of an existing home, or the slice. The caller closes the result. */
    public StoredMessages open(Surroundings surroundings, Host host, ScanProgress watched)
            throws IOException, UsageException, CommandFailedException {
        requireOne();
        return slice == null
                ? HomeJournals.open(home.openExisting(surroundings, host)).onProgress(watched::records)
                : SliceMessages.open(path(surroundings), host);
    }

    /** Opens the journals of a home that may be damaged, or the slice. The caller closes the result. */
    public StoredMessages openDamaged(Surroundings surroundings, Host host, ScanProgress watched)
            throws IOException, UsageException, CommandFailedException {
        requireOne();
        return slice == null
                ? HomeJournals.open(home.openDamaged(surroundings, host)).onProgress(watched::records)
                : SliceMessages.open(path(surroundings), host);
    }

    /** Returns the options as written on a command line. */
    public List<String> words(Path path) {
        return List.of(slice == null ? "--home" : "--slice", path.toString());
    }
}
