package io.waybill.cli.select;

import io.waybill.cli.command.UsageException;
import picocli.CommandLine.Option;

/** Option that limits a list of calls to the newest ones. */
public final class NewestOption {

    @Option(
            names = "--limit",
            paramLabel = "N",
            defaultValue = "50",
            description = "Only the N newest; 0 for all. Default: ${DEFAULT-VALUE}.")
    private int limit;

    /** Returns the max number of calls; 0 for all. */
    public int limit() throws UsageException {
        if (limit < 0) {
            throw new UsageException("--limit must be 0 or more: " + limit);
        }
        return limit;
    }
}
