package io.waybill.cli.bench;

import io.waybill.bench.Pairs;
import io.waybill.bench.call.CallLoad;
import io.waybill.bench.measure.EchoHandler;
import io.waybill.cli.command.ParsedOption;
import io.waybill.cli.node.Quantities;
import io.waybill.cli.show.MarkdownTable;
import io.waybill.worker.poll.Waiting;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import picocli.CommandLine.Model.OptionSpec;

/**
 * Table of the measurements with their options: the resource {@code benches.table}, which is part of the reference of
 * commands. Command line and help are generated from it. Stateless.
 */
public final class BenchTable {

    /** Table of measurements and options. */
    public static final MarkdownTable TABLE = MarkdownTable.of(BenchTable.class, "benches.table");

    private static final Pattern OPTION = Pattern.compile("(--\\S+) (\\S+)");

    /**
     * One measurement.
     *
     * @param leavesOut parts that it does not measure
     * @param defaults all its options, with their defaults
     */
    record Bench(String name, String description, String leavesOut, String defaults) {

        /** Returns its options for the command line, by name. */
        Map<String, OptionSpec> options() {
            Map<String, OptionSpec> options = new LinkedHashMap<>();
            OPTION.matcher(defaults)
                    .results()
                    .forEach(each -> options.put(each.group(1), option(each.group(1), each.group(2))));
            return options;
        }
    }

    private BenchTable() {}

    static List<Bench> all() {
        return TABLE.rows(4).stream()
                .map(row -> new Bench(row.get(0), row.get(1), row.get(2), row.get(3)))
                .toList();
    }

    private static OptionSpec option(String name, String fallback) {
        String meaning = TABLE.pairs(2).get(name);
        String sentence = Character.toUpperCase(meaning.charAt(0)) + meaning.substring(1);
        OptionSpec.Builder option = OptionSpec.builder(name)
                .paramLabel("<" + name.substring(2) + ">")
                .defaultValue(fallback)
                .description(sentence + "; ${DEFAULT-VALUE}.");
        switch (name) {
            case "--sizes", "--micros", "--callers" ->
                option.type(List.class).auxiliaryTypes(Long.class).splitRegex(",");
            case "--waiting" -> choice(option, Waiting.class);
            case "--pattern" -> choice(option, Pairs.Pattern.class);
            case "--call" -> choice(option, CallLoad.Form.class);
            case "--handler" -> choice(option, EchoHandler.Kind.class);
            default -> option.type(long.class);
        }
        return option.build();
    }

    private static <E extends Enum<E>> void choice(OptionSpec.Builder option, Class<E> type) {
        option.type(type).converters(new ParsedOption<>(text -> Quantities.choice(type, text)));
    }
}
