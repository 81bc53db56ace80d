package io.waybill.cli.bench;

import io.waybill.bench.Pairs;
import io.waybill.bench.measure.EchoHandler;
import io.waybill.cli.command.UsageException;
import io.waybill.worker.poll.Waiting;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import picocli.CommandLine.Model.OptionSpec;

/**
 * The values of a measurement's options, once the command line is parsed. Of an option that the measurement lacks: 0, or empty.
 *
 * @param options all of the measurement, by name
 */
record BenchValues(Map<String, OptionSpec> options) {

    private static final long MIB = 1 << 20;

    private <T> T value(String name, T otherwise) {
        OptionSpec option = options.get(name);
        return option == null ? otherwise : option.getValue();
    }

    private static int require(boolean holds, String name, String rule, long value) throws UsageException {
        if (!holds) {
            throw new UsageException(name + " must be " + rule + ": " + value);
        }
        return (int) value;
    }

    long large(String name) {
        return value(name, 0L);
    }

    int number(String name) throws UsageException {
        long value = large(name);
        return require(value >= 0 && value <= Integer.MAX_VALUE, name, "from 0 to " + Integer.MAX_VALUE, value);
    }

    int odd(String name) throws UsageException {
        int value = number(name);
        return require(value % 2 != 0 || !options.containsKey(name), name, "odd, so that there is a median", value);
    }

    int even(String name) throws UsageException {
        int value = number(name);
        return require(value >= 2 && value % 2 == 0, name, "even, so that each has a partner", value);
    }

    /** Returns the sizes in bytes. */
    List<Long> sizes() {
        return value("--sizes", List.<Long>of()).stream()
                .map(each -> each * MIB)
                .toList();
    }

    /** Returns the times of handlers in microseconds. */
    List<Integer> micros() throws UsageException {
        List<Integer> micros = new ArrayList<>();
        for (long each : value("--micros", List.<Long>of())) {
            micros.add(require(each > 0 && each <= 1_000_000, "--micros", "from 1 to 1000000", each));
        }
        return micros;
    }

    EchoHandler handler() throws UsageException {
        return new EchoHandler(value("--handler", EchoHandler.Kind.NONBLOCKING), number("--busy"));
    }

    Pairs.Pattern pattern() {
        return value("--pattern", Pairs.Pattern.PARTNERS);
    }

    /** The name of a {@link Waiting}. */
    String waiting() {
        return value("--waiting", Waiting.BALANCED).name();
    }
}
