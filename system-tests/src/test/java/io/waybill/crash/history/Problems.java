package io.waybill.crash.history;

import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/** What a check found: of each kind the first few, and how many there were. One thread. */
public final class Problems {

    private static final int SHOWN = 10;

    private final List<Problem> first = new ArrayList<>();
    private final Map<Problem.Kind, Integer> counts = new EnumMap<>(Problem.Kind.class);

    void add(Problem.Kind kind, String text) {
        if (counts.merge(kind, 1, Integer::sum) <= SHOWN) {
            first.add(new Problem(kind, text));
        }
    }

    public boolean isEmpty() {
        return counts.isEmpty();
    }

    public Set<Problem.Kind> kinds() {
        return counts.keySet();
    }

    @Override
    public String toString() {
        return counts + first.stream().map(problem -> "\n  " + problem).collect(Collectors.joining());
    }
}
