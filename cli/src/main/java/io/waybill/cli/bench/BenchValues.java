package io.waybill.cli.bench;

import io.waybill.cli.command.UsageException;
import io.waybill.worker.poll.Waiting;
import java.util.List;
import picocli.CommandLine.Model.OptionSpec;

/**
 * The values of a measurement's options, once the command line is parsed. Of an option that the measurement lacks: 0, or empty.
 *
 * @param options all of the measurement
 */
record BenchValues(List<OptionSpec> options) {

    private static final long MIB = 1 << 20;

    private <T> T value(String name, T otherwise) {
        for (OptionSpec option : options) {
            if (option.longestName().equals(name)) {
                return option.getValue();
            }
        }
        return otherwise;
    }

    long large(String name) {
        return value(name, 0L);
    }

    int number(String name) throws UsageException {
        long value = large(name);
        if (value < 0 || value > Integer.MAX_VALUE) {
            throw new UsageException(name + " must be from 0 to " + Integer.MAX_VALUE + ": " + value);
        }
        return (int) value;
    }

    int odd(String name) throws UsageException {
        int value = number(name);
        if (value % 2 == 0 && value(name, null) != null) {
            throw new UsageException(name + " must be odd, so that there is a median: " + value);
        }
        return value;
    }

    int even(String name) throws UsageException {
        int value = number(name);
        if (value < 2 || value % 2 != 0) {
            throw new UsageException(name + " must be even, so that each has a partner: " + value);
        }
        return value;
    }

    /** In bytes. */
    List<Long> sizes() {
        return value("--sizes", List.<Long>of()).stream()
                .map(each -> each * MIB)
                .toList();
    }

    /** The name of a {@link Waiting}. */
    String waiting() {
        return value("--waiting", Waiting.BALANCED).name();
    }
}
