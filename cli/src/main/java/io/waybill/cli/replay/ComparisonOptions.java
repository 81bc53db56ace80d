package io.waybill.cli.replay;

import io.waybill.cli.command.UsageException;
import io.waybill.replay.compare.ContentComparison;
import io.waybill.replay.compare.FloatTolerance;
import io.waybill.replay.compare.ResponseComparison;
import java.util.List;
import picocli.CommandLine.Option;

/** Options that define which responses count as equal. */
final class ComparisonOptions {

    private static final String EXACT = "exact";
    private static final String TOLERANCE = "tolerance";

    @Option(
            names = "--compare",
            paramLabel = "MODE",
            defaultValue = EXACT,
            description =
                    "When responses are the same: exact (bit for bit; default), or tolerance (floats may lie a little apart).")
    private String mode;

    @Option(
            names = "--rtol",
            paramLabel = "N",
            description = "With --compare tolerance: relative to the number on record. Default: 1e-5.")
    private Double relative;

    @Option(names = "--atol", paramLabel = "N", description = "With --compare tolerance: absolute. Default: 1e-8.")
    private Double absolute;

    /** @throws UsageException if they contradict each other */
    ResponseComparison comparison() throws UsageException {
        return isExact() ? ContentComparison.exact() : ContentComparison.within(tolerance());
    }

    private boolean isExact() throws UsageException {
        if (mode.equals(TOLERANCE)) {
            return false;
        } else if (!mode.equals(EXACT)) {
            throw new UsageException("--compare is exact or tolerance, not " + mode);
        } else if (relative != null || absolute != null) {
            throw new UsageException("--rtol and --atol go with --compare tolerance");
        }
        return true;
    }

    private FloatTolerance tolerance() throws UsageException {
        try {
            return new FloatTolerance(
                    relative == null ? FloatTolerance.DEFAULT.relative() : relative,
                    absolute == null ? FloatTolerance.DEFAULT.absolute() : absolute);
        } catch (IllegalArgumentException e) {
            throw new UsageException(e.getMessage(), e);
        }
    }

    /** Describes the comparison, for the report. */
    String manner() throws UsageException {
        return isExact()
                ? "bit for bit"
                : "floating-point numbers within rtol=" + tolerance().relative() + " and atol="
                        + tolerance().absolute();
    }

    /** Returns the options as written on a command line. */
    List<String> words() throws UsageException {
        return isExact()
                ? List.of()
                : List.of(
                        "--compare",
                        TOLERANCE,
                        "--rtol",
                        Double.toString(tolerance().relative()),
                        "--atol",
                        Double.toString(tolerance().absolute()));
    }
}
