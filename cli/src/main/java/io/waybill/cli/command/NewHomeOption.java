package io.waybill.cli.command;

import io.waybill.home.Home;
import io.waybill.home.error.HomeException;
import io.waybill.home.identity.HomeIdentity;
import io.waybill.host.Host;
import java.io.IOException;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** The options of the commands that make a home when it is not there: which one, and the identity of a new one. */
public final class NewHomeOption {

    @Mixin
    private HomeOption home;

    @Option(
            names = "--host-name",
            paramLabel = "NAME",
            description =
                    "Host name of a new home, 1 to 63 of a-z 0-9 . - (default: local). An existing home must have it.")
    private String host;

    @Option(
            names = "--worker-ids",
            paramLabel = "FIRST-LAST",
            description =
                    "Ids that a new home gives its workers, within 0-32767 (default: 0-511). An existing home must have them.")
    private String ids;

    /** Returns the option that names the home. */
    public HomeOption home() {
        return home;
    }

    /**
     * Opens the home, or makes it.
     *
     * @throws UsageException when a name or range is malformed
     * @throws HomeException when the home is there and has another identity than was given
     */
    public Home open(Surroundings surroundings, Host system) throws IOException, UsageException {
        HomeIdentity wanted = wanted();
        Home opened = Home.open(home.path(surroundings), system, Home.ROLL_CYCLE_DEFAULT, wanted);
        HomeIdentity found = opened.identity();
        boolean isOther = host != null && !host.equals(found.host()) || ids != null && !ids.equals(found.ids());
        if (isOther) {
            throw new HomeException(
                    "home " + opened.path() + " can't be used: expected " + wanted + ", found " + found
                            + " in its home.properties; leave out --host-name and --worker-ids, or name another home with --home");
        }
        return opened;
    }

    private HomeIdentity wanted() throws UsageException {
        try {
            return HomeIdentity.of(
                    host == null ? HomeIdentity.LOCAL.host() : host, ids == null ? HomeIdentity.LOCAL.ids() : ids);
        } catch (IllegalArgumentException e) {
            throw new UsageException("--host-name, --worker-ids: " + e.getMessage(), e);
        }
    }
}
