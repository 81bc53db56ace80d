package io.waybill.bench.measure;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * CSV file to which measurements append their figures, a line each, as {@code docs/performance/history.csv} has them.
 * Stateless.
 *
 * @param file is created with the first figures when it is missing; null for none: figures are not kept then
 */
public record FigureHistory(Path file) {

    private static final String HEADER = "date,build,measurement,variant,metric,value,unit,machine,note";
    private static final Pattern PLAIN = Pattern.compile("[^\",\r\n]*");
    private static final Map<String, String> UNITS =
            Map.of("_ns", "ns", "_us", "us", "_ms", "ms", "_per_s", "/s", "_bytes", "bytes", "_mb", "MB");

    /**
     * Occasion of a measurement.
     *
     * @param date in ISO 8601
     * @param build version of Waybill
     * @param measurement command with its options
     * @param machine processors and JDK
     */
    public record Occasion(String date, String build, String measurement, String machine, String note) {

        /** Returns the occasion of a measurement on this machine. */
        public static Occasion now(String build, String measurement, String note) {
            Runtime runtime = Runtime.getRuntime();
            String machine = runtime.availableProcessors() + " processors, " + System.getProperty("os.arch") + ", JDK "
                    + Runtime.version().feature();
            return new Occasion(LocalDate.now(ZoneOffset.UTC).toString(), build, measurement, machine, note);
        }
    }

    /**
     * Checks before a measurement that its figures can be appended.
     *
     * @throws IOException when the file has other columns, or its folder is missing
     */
    public void requireUsable() throws IOException {
        if (file == null) {
            return;
        }
        String first;
        try (var lines = Files.lines(file, StandardCharsets.UTF_8)) {
            first = lines.findFirst().orElse(HEADER);
        } catch (NoSuchFileException e) {
            Path folder = file.toAbsolutePath().getParent();
            if (!Files.isDirectory(folder)) {
                throw new IOException(file + ": expected the folder " + folder + ", found none; make it first");
            }
            return;
        }
        if (!first.equals(HEADER)) {
            throw new IOException(file + ": expected the columns " + HEADER + ", found " + first);
        }
    }

    /** Appends the figures of a measurement. The variant of a row in a list is the row's texts, or its first figure. */
    public void append(Occasion occasion, Map<String, ?> figures) throws IOException {
        if (file == null) {
            return;
        }
        List<String> lines = new ArrayList<>();
        if (!Files.exists(file) || Files.size(file) == 0) {
            lines.add(HEADER);
        }
        addLines(occasion, "", figures, lines);
        Files.write(file, lines, StandardCharsets.UTF_8, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
    }

    private static void addLines(Occasion occasion, String variant, Map<?, ?> figures, List<String> lines) {
        figures.forEach((key, value) -> {
            String metric = key.toString();
            if (value instanceof List<?> rows) {
                for (Object row : rows) {
                    Map<?, ?> each = (Map<?, ?>) row;
                    addLines(occasion, metric + " " + variantOf(each), each, lines);
                }
            } else if (value instanceof Number) {
                List<String> cells = List.of(
                        occasion.date,
                        occasion.build,
                        occasion.measurement,
                        variant,
                        metric,
                        value.toString(),
                        unit(metric),
                        occasion.machine,
                        occasion.note);
                lines.add(cells.stream().map(FigureHistory::cell).collect(Collectors.joining(",")));
            }
        });
    }

    private static String variantOf(Map<?, ?> row) {
        String texts = row.entrySet().stream()
                .filter(each -> each.getValue() instanceof String)
                .map(each -> each.getKey() + "=" + each.getValue())
                .collect(Collectors.joining(" "));
        return texts.isEmpty()
                ? row.entrySet().stream()
                        .findFirst()
                        .map(each -> each.getKey() + "=" + each.getValue())
                        .orElse("")
                : texts;
    }

    private static String unit(String metric) {
        if (metric.startsWith("ratio")) {
            return "ratio";
        }
        return UNITS.entrySet().stream()
                .filter(each -> metric.endsWith(each.getKey()))
                .map(Map.Entry::getValue)
                .findFirst()
                .orElse("");
    }

    private static String cell(String text) {
        return PLAIN.matcher(text).matches() ? text : '"' + text.replace("\"", "\"\"") + '"';
    }
}
