package io.waybill.system;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/** The content of a {@link CallLog}. */
final class Outcomes {

    static final String OK = "OK";

    final Set<Long> sent = new HashSet<>();
    final Map<Long, String> outcomes = new HashMap<>();
    final Map<String, Integer> counts = new TreeMap<>();
    final Map<String, Integer> refused = new TreeMap<>();
    /** The life of the worker in which a request was begun. */
    final Map<Long, Long> handled = new HashMap<>();

    /** The last incarnation of the worker in which a request was begun that may have been begun before. */
    final Map<Long, Long> handledAgain = new HashMap<>();

    /** What was begun although its deadline was over. */
    final Set<Long> expired = new HashSet<>();

    /** What was claimed of an earlier incarnation's calls. */
    final Map<Long, String> claimed = new HashMap<>();

    final List<String> doubles = new ArrayList<>();

    static Outcomes read(Path path) throws IOException {
        Outcomes read = new Outcomes();
        String text = Files.readString(path);
        // whoever writes it may be in the middle of a line
        text.substring(0, text.lastIndexOf('\n') + 1).lines().forEach(line -> read.take(line.split(" ")));
        return read;
    }

    private void take(String[] words) {
        switch (words[0]) {
            case "S" -> note(sent.add(id(words)), words);
            case "O" -> {
                note(outcomes.put(id(words), words[2]) == null, words);
                counts.merge(words[2], 1, Integer::sum);
            }
            case "R" -> refused.merge(words[1], 1, Integer::sum);
            case "X" -> expired.add(id(words));
            case "C" -> note(claimed.put(id(words), words[2]) == null, words);
            case "A" -> handledAgain.put(id(words), Long.parseLong(words[2]));
            case "H" -> note(handled.put(id(words), Long.parseLong(words[2])) == null, words);
            default -> throw new AssertionError("no such line: " + String.join(" ", words));
        }
    }

    private static long id(String[] words) {
        return Long.parseUnsignedLong(words[1], 16);
    }

    private void note(boolean first, String[] words) {
        if (!first) {
            doubles.add(String.join(" ", words));
        }
    }

    int count(String outcome) {
        return counts.getOrDefault(outcome, 0);
    }

    Set<Long> withOutcome(String outcome) {
        Set<Long> ids = new HashSet<>();
        outcomes.forEach((id, its) -> {
            if (its.equals(outcome)) {
                ids.add(id);
            }
        });
        return ids;
    }

    /** No id was given twice, no call had two outcomes, no request was begun twice. */
    Outcomes hasNothingTwice() {
        assertThat(doubles).as("seen twice").isEmpty();
        return this;
    }

    /** Every acknowledged call has its outcome. */
    Outcomes isBalanced() {
        Set<Long> open = new HashSet<>(sent);
        open.removeAll(outcomes.keySet());
        assertThat(open).as("calls without an outcome").isEmpty();
        return this;
    }
}
