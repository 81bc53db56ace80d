package io.waybill.syscall;

import java.util.Collection;
import java.util.Map;
import java.util.TreeMap;

/** How many calls had which outcome, with the first text of each. Belongs to one thread. */
final class Tally {

    static final String OK = "OK";
    /** A call that has no outcome at all. */
    static final String NONE = "NONE";
    /** An error that is no {@code CallException}. */
    static final String UNTYPED = "UNTYPED";

    private final Map<String, Integer> counts = new TreeMap<>();
    private final Map<String, String> texts = new TreeMap<>();

    void add(String outcome, String text) {
        counts.merge(outcome, 1, Integer::sum);
        texts.putIfAbsent(outcome, String.valueOf(text).replaceAll("[\\s|]+", " "));
    }

    void add(Tally other) {
        other.counts.forEach((outcome, count) -> counts.merge(outcome, count, Integer::sum));
        other.texts.forEach(texts::putIfAbsent);
    }

    int count(String outcome) {
        return counts.getOrDefault(outcome, 0);
    }

    /** Returns the first text of each outcome. */
    Collection<String> texts() {
        return texts.values();
    }

    String text(String outcome) {
        return texts.getOrDefault(outcome, "");
    }

    Iterable<String> outcomes() {
        return counts.keySet();
    }

    /** Returns one line that {@link #parse} reads. */
    @Override
    public String toString() {
        StringBuilder line = new StringBuilder();
        counts.forEach((outcome, count) -> line.append(outcome)
                .append('=')
                .append(count)
                .append(' ')
                .append(texts.get(outcome))
                .append('|'));
        return line.toString();
    }

    static Tally parse(String line) {
        Tally tally = new Tally();
        for (String part : line.split("\\|")) {
            int equals = part.indexOf('=');
            if (equals > 0) {
                String[] rest = part.substring(equals + 1).split(" ", 2);
                tally.counts.put(part.substring(0, equals), Integer.parseInt(rest[0]));
                tally.texts.put(part.substring(0, equals), rest.length > 1 ? rest[1] : "");
            }
        }
        return tally;
    }
}
