package io.waybill.metrics;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A scrape in Prometheus's text format 0.0.4, parsed strictly: what the format does not allow throws. Histograms are checked, too.
 *
 * <p>Immutable.
 */
final class Scrape {

    private static final Pattern NAME = Pattern.compile("[a-zA-Z_:][a-zA-Z0-9_:]*");
    private static final Pattern LABEL =
            Pattern.compile("([a-zA-Z_][a-zA-Z0-9_]*)=\"((?:[^\"\\\\\n]|\\\\[\\\\\"n])*)\"");
    private static final Set<String> TYPES = Set.of("counter", "gauge", "histogram", "summary", "untyped");

    private final Map<String, String> types = new LinkedHashMap<>();
    private final Map<String, Map<Map<String, String>, Double>> samples = new LinkedHashMap<>();
    private final Set<String> ended = new HashSet<>(); // families after which another one came
    private String family = "";

    private Scrape() {}

    static Scrape parse(String text) {
        if (!text.isEmpty() && !text.endsWith("\n")) {
            throw new IllegalArgumentException("the last line has no end");
        }
        Scrape scrape = new Scrape();
        for (String line : text.split("\n")) {
            if (line.startsWith("# ")) {
                scrape.comment(line);
            } else {
                scrape.sample(line);
            }
        }
        scrape.checkHistograms();
        return scrape;
    }

    private void comment(String line) {
        String[] words = line.split(" ", 4);
        if (words[1].equals("HELP") || words[1].equals("TYPE")) {
            enter(words[2], line);
        }
        if (words[1].equals("TYPE")
                && (!TYPES.contains(words[3])
                        || types.put(words[2], words[3]) != null
                        || samples.containsKey(words[2]))) {
            throw wrong(line);
        }
    }

    private void enter(String name, String line) {
        if (!name.equals(family)) {
            ended.add(family);
            family = name;
        }
        if (!NAME.matcher(name).matches() || ended.contains(name)) {
            throw wrong(line);
        }
    }

    private void sample(String line) {
        Matcher name = NAME.matcher(line);
        if (!name.lookingAt()) {
            throw wrong(line);
        }
        int at = name.end();
        Map<String, String> labels = new TreeMap<>();
        if (line.charAt(at) == '{') {
            Matcher label = LABEL.matcher(line);
            at++;
            while (line.charAt(at) != '}') {
                if (!label.find(at)
                        || label.start() != at
                        || labels.put(label.group(1), unescaped(label.group(2))) != null) {
                    throw wrong(line);
                }
                at = label.end() + (line.charAt(label.end()) == ',' ? 1 : 0);
            }
            at++;
        }
        if (line.charAt(at) != ' ' || line.indexOf(' ', at + 1) >= 0) {
            throw wrong(line);
        }
        requireFamily(name.group(), line);
        double value = number(line.substring(at + 1));
        if (samples.computeIfAbsent(name.group(), each -> new LinkedHashMap<>()).put(labels, value) != null) {
            throw wrong(line);
        }
    }

    private void requireFamily(String name, String line) {
        String type = types.getOrDefault(family, "");
        boolean isPart = type.equals("histogram") || type.equals("summary");
        Set<String> allowed = new HashSet<>(Set.of(family));
        if (isPart) {
            List.of("_bucket", "_sum", "_count").forEach(end -> allowed.add(family + end));
        }
        if (type.isEmpty() || !allowed.contains(name) || type.equals("counter") && !name.endsWith("_total")) {
            throw wrong(line);
        }
    }

    private static String unescaped(String text) {
        StringBuilder plain = new StringBuilder();
        for (int i = 0; i < text.length(); i++) {
            char each = text.charAt(i);
            if (each == '\\') {
                i++;
                plain.append(text.charAt(i) == 'n' ? '\n' : text.charAt(i));
            } else {
                plain.append(each);
            }
        }
        return plain.toString();
    }

    private static double number(String text) {
        return switch (text) {
            case "+Inf" -> Double.POSITIVE_INFINITY;
            case "-Inf" -> Double.NEGATIVE_INFINITY;
            default -> Double.parseDouble(text);
        };
    }

    private static IllegalArgumentException wrong(String line) {
        return new IllegalArgumentException("not in the text format: " + line);
    }

    private void checkHistograms() {
        types.forEach((name, type) -> {
            if (type.equals("histogram")) {
                of(name + "_count").forEach((labels, count) -> {
                    List<Double> buckets = buckets(name, labels);
                    if (!buckets.stream().sorted().toList().equals(buckets)
                            || !buckets.get(buckets.size() - 1).equals(count)
                            || !of(name + "_sum").containsKey(labels)) {
                        throw new IllegalArgumentException("buckets of " + name + labels + ": " + buckets);
                    }
                });
            }
        });
    }

    /** The cumulated counts of a histogram, in the order of their bounds; the last one is that of +Inf. */
    List<Double> buckets(String name, Map<String, String> labels) {
        Map<Double, Double> byBound = new TreeMap<>();
        of(name + "_bucket").forEach((each, value) -> {
            Map<String, String> rest = new TreeMap<>(each);
            double bound = number(rest.remove("le"));
            if (rest.equals(labels)) {
                byBound.put(bound, value);
            }
        });
        if (!byBound.containsKey(Double.POSITIVE_INFINITY)) {
            throw new IllegalArgumentException("no bucket without a bound: " + name + labels);
        }
        return new ArrayList<>(byBound.values());
    }

    Set<String> names() {
        return samples.keySet();
    }

    /** The values of a metric, by labels. */
    Map<Map<String, String>, Double> of(String name) {
        return samples.getOrDefault(name, Map.of());
    }

    /** The sum of the values of a metric whose labels have these values. */
    double sum(String name, Map<String, String> labels) {
        return of(name).entrySet().stream()
                .filter(each -> each.getKey().entrySet().containsAll(labels.entrySet()))
                .mapToDouble(Map.Entry::getValue)
                .sum();
    }

    Map<String, String> types() {
        return types;
    }
}
