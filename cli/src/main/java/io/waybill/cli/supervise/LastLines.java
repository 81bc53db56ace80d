package io.waybill.cli.supervise;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;

/** The newest lines of many. Thread-safe. */
final class LastLines {

    private final int max;
    private final Deque<String> lines = new ArrayDeque<>();

    LastLines(int max) {
        this.max = max;
    }

    synchronized void add(String line) {
        if (lines.size() == max) {
            lines.removeFirst();
        }
        lines.addLast(line);
    }

    /** Oldest first. */
    synchronized List<String> list() {
        return List.copyOf(lines);
    }
}
