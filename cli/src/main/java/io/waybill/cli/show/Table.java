package io.waybill.cli.show;

import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;

/** Rows of text under headings, each column as wide as its widest cell. For one thread. */
public final class Table {

    private static final String GAP = "  ";

    private final List<List<String>> rows = new ArrayList<>();

    public Table(String... headings) {
        rows.add(List.of(headings));
    }

    /** Adds a row with a cell per heading. */
    public Table row(Object... cells) {
        List<String> row = new ArrayList<>();
        for (Object cell : cells) {
            row.add(Printable.oneLine(String.valueOf(cell)));
        }
        if (row.size() != rows.get(0).size()) {
            throw new IllegalArgumentException("expected " + rows.get(0).size() + " cells, found " + row.size());
        }
        rows.add(row);
        return this;
    }

    /** Writes headings and rows. */
    public void print(PrintWriter out) {
        int columns = rows.get(0).size();
        int[] widths = new int[columns];
        for (List<String> row : rows) {
            for (int i = 0; i < columns; i++) {
                widths[i] = Math.max(widths[i], row.get(i).length());
            }
        }
        for (List<String> row : rows) {
            StringBuilder line = new StringBuilder();
            for (int i = 0; i < columns; i++) {
                String cell = row.get(i);
                line.append(cell).append(" ".repeat(widths[i] - cell.length())).append(GAP);
            }
            out.println(line.toString().stripTrailing());
        }
    }
}
