package io.waybill.cli.command;

import io.waybill.home.Home;
import io.waybill.home.error.HomeException;
import io.waybill.host.Host;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import picocli.CommandLine.Option;

/** Option that names the home, for the commands that need one. */
public final class HomeOption {

    @Option(
            names = "--home",
            paramLabel = "DIR",
            description =
                    "The workers' shared directory. Default: $$WAYBILL_HOME, else waybill/home below $$XDG_STATE_HOME or"
                            + " ~/.local/state.")
    private Path directory;

    /**
     * Returns the directory, whether it exists or not.
     *
     * @throws IllegalStateException if none is named, and the user has none
     */
    public Path path(Surroundings surroundings) {
        if (directory != null) {
            return directory;
        }
        return surroundings
                .home()
                .orElseThrow(
                        () -> new IllegalStateException(
                                "no home: expected a directory of this user in HOME or passwd, found none; set WAYBILL_HOME or HOME"));
    }

    /** Opens the home, which must exist. */
    public Home openExisting(Surroundings surroundings, Host host) throws IOException {
        Path path = path(surroundings);
        if (!Files.exists(path)) {
            throw new HomeException("no home at " + path
                    + ": start a node, waybill node --name NAME, or name another home with --home");
        }
        return Home.openExisting(path, host);
    }

    /** Opens the home, which must exist, and may be damaged. */
    public Home openDamaged(Surroundings surroundings, Host host) throws IOException {
        return Home.openDamaged(path(surroundings), host);
    }
}
