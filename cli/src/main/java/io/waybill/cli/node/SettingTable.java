package io.waybill.cli.node;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Every setting of a node: the resource {@code settings.table}, which is the table of the page on configuration. Parsing takes keys and
 * defaults from it; tests compare the page and the file of the distribution with it. Stateless.
 */
public final class SettingTable {

    private static final Pattern ROW = Pattern.compile("\\| `([a-z]+\\.[a-z-]+)` \\| `([^`]+)` \\| (.+) \\|");

    /** The defaults as an operator would write them, by key, in the order of the table. */
    static final Map<String, String> DEFAULTS = defaults();

    private SettingTable() {}

    private static Map<String, String> defaults() {
        Map<String, String> defaults = new LinkedHashMap<>();
        text().lines().forEach(line -> {
            Matcher row = ROW.matcher(line);
            if (!row.matches()) {
                throw new IllegalStateException("expected | `key` | `default` | meaning |, found " + line);
            }
            defaults.put(row.group(1), row.group(2));
        });
        return Collections.unmodifiableMap(defaults);
    }

    /** The rows in Markdown: key, default and meaning. */
    public static String text() {
        try (InputStream in = SettingTable.class.getResourceAsStream("settings.table")) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
