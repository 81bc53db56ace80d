package io.waybill.cli.bench;

import io.waybill.bench.Pairs;
import io.waybill.bench.app.Application;
import io.waybill.bench.call.CallLoad;
import io.waybill.bench.measure.EchoHandler;
import io.waybill.bench.measure.Work;
import io.waybill.cli.command.UsageException;
import io.waybill.worker.poll.Waiting;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import picocli.CommandLine.Model.OptionSpec;

/**
 * Values of a measurement's options, after the command line was parsed: 0 or empty for an option that the measurement
 * lacks.
 *
 * @param options all of the measurement, by name
 */
record BenchValues(Map<String, OptionSpec> options) {

    private static final long MIB = 1 << 20;
    private static final int MAX_MICROS = 1_000_000;
    private static final int MAX_CALLERS = 256;

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
        return each("--micros", MAX_MICROS);
    }

    /** Returns the numbers of callers. */
    List<Integer> callers() throws UsageException {
        return each("--callers", MAX_CALLERS);
    }

    private List<Integer> each(String name, int max) throws UsageException {
        List<Integer> all = new ArrayList<>();
        for (long each : value(name, List.<Long>of())) {
            all.add(require(each > 0 && each <= max, name, "from 1 to " + max, each));
        }
        return all;
    }

    private int positive(String name) throws UsageException {
        int value = number(name);
        return require(value > 0, name, "at least 1", value);
    }

    private int micros(String name) throws UsageException {
        int value = number(name);
        return require(value <= MAX_MICROS, name, "from 0 to " + MAX_MICROS, value);
    }

    EchoHandler handler() throws UsageException {
        return new EchoHandler(
                value("--handler", EchoHandler.Kind.NON_BLOCKING), new Work(micros("--work"), micros("--sleep")));
    }

    /** Returns the load of a measurement of calls; without {@code --in-flight} the calls are sequential. */
    CallLoad load() throws UsageException {
        int size = number("--size");
        require(size >= Work.MIN_BYTES, "--size", "at least " + Work.MIN_BYTES, size);
        return new CallLoad(
                value("--call", CallLoad.Form.NAMED),
                size,
                handler(),
                options.containsKey("--in-flight") ? positive("--in-flight") : 1,
                new CallLoad.Timing(number("--warm-up"), positive("--seconds")));
    }

    Application.Load application() throws UsageException {
        return new Application.Load(
                positive("--rate"),
                positive("--in-flight"),
                micros("--work"),
                number("--warm-up"),
                positive("--seconds"));
    }

    Pairs.Pattern pattern() {
        return value("--pattern", Pairs.Pattern.PARTNERS);
    }

    /** Returns the name of a {@link Waiting}. */
    String waiting() {
        return value("--waiting", Waiting.BALANCED).name();
    }
}
