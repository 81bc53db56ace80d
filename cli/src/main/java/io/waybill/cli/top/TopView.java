package io.waybill.cli.top;

import java.util.Comparator;
import java.util.List;
import java.util.Locale;

/** State of the display of {@code waybill top}, which keys change. Belongs to one thread. */
final class TopView {

    private static final char ESCAPE = 27;
    private static final char DELETE = 127;

    /** Order of the rows, descending. */
    enum Sort {
        RATE(Comparator.comparingDouble(TopRow::rate)),
        P99(Comparator.comparingLong(TopRow::p99Ns)),
        ERRORS(Comparator.comparingDouble(TopRow::errorRate)),
        INFLIGHT(Comparator.comparingLong(row -> row.inFlight() + row.parked()));

        private final Comparator<TopRow> order;

        Sort(Comparator<TopRow> order) {
            this.order = order.reversed().thenComparing(TopRow::worker).thenComparing(TopRow::operation);
        }

        private Sort next(int by) {
            return values()[Math.floorMod(ordinal() + by, values().length)];
        }
    }

    private Sort sort;
    private String filter;
    private boolean called;
    private boolean isPaused;
    private String typed; // the filter that is being typed; otherwise null

    TopView(Sort sort, String filter, boolean called) {
        this.sort = sort;
        this.filter = filter;
        this.called = called;
    }

    /**
     * Handles a key.
     *
     * @return false if it ends the command
     */
    boolean onKey(int key) {
        if (typed != null) {
            type((char) key);
            return true;
        }
        switch (key) {
            case 'q' -> {
                return false;
            }
            case '<' -> sort = sort.next(-1);
            case '>' -> sort = sort.next(1);
            case '/' -> typed = filter;
            case 'c' -> called = !called;
            case 'p', ' ' -> isPaused = !isPaused;
            default -> {} // like top and less
        }
        return true;
    }

    private void type(char key) {
        switch (key) {
            case '\r', '\n' -> {
                filter = typed;
                typed = null;
            }
            case ESCAPE -> typed = null;
            case DELETE, '\b' -> typed = typed.isEmpty() ? typed : typed.substring(0, typed.length() - 1);
            default ->
                typed = key < ' ' || key > '~' ? typed : typed + key; // covers names of workers and most operations
        }
    }

    /** Returns whether it shows the requests that workers send, instead of those they serve. */
    boolean isCalled() {
        return called;
    }

    /** Returns whether the figures are frozen. */
    boolean isPaused() {
        return isPaused;
    }

    /** Returns the visible rows, in their order. */
    List<TopRow> of(List<TopRow> rows) {
        return rows.stream()
                .filter(row -> row.worker().contains(filter) || row.operation().contains(filter))
                .sorted(sort.order)
                .toList();
    }

    /** Returns the line that describes the display and the keys. */
    String line() {
        if (typed != null) {
            return "filter: " + typed + "_  Enter: filter  Esc: leave as it was";
        }
        return (isPaused ? "PAUSED  " : "") + "< > sort: " + sort.name().toLowerCase(Locale.ROOT) + "  / filter"
                + (filter.isEmpty() ? "" : ": " + filter) + "  c: " + (called ? "called" : "served")
                + "  p: pause  q: quit";
    }
}
