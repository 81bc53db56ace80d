package io.waybill.cli.show;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Tables in Markdown from a resource that the documentation shows and the program reads. Immutable.
 *
 * @param text the whole resource
 */
public record MarkdownTable(String text) {

    /** Reads the resource of this name, next to the class. */
    public static MarkdownTable of(Class<?> owner, String name) {
        try (InputStream in = owner.getResourceAsStream(name)) {
            return new MarkdownTable(new String(in.readAllBytes(), StandardCharsets.UTF_8));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /**
     * The rows that begin with code and have this many cells, in order. Cells with code are returned without backticks.
     */
    public List<List<String>> rows(int cells) {
        return text.lines()
                .filter(line -> line.startsWith("| `"))
                .map(line -> Arrays.stream(line.substring(2, line.length() - 2).split(" \\| "))
                        .map(cell -> cell.replaceAll("^`([^`]+)`$", "$1"))
                        .toList())
                .filter(row -> row.size() == cells)
                .toList();
    }

    /** Returns the second cells of such rows by their first ones, in order. */
    public Map<String, String> pairs(int cells) {
        Map<String, String> pairs = new LinkedHashMap<>();
        rows(cells).forEach(row -> pairs.put(row.get(0), row.get(1)));
        return pairs;
    }
}
