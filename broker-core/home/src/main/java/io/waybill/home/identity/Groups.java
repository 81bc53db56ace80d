package io.waybill.home.identity;

import java.util.LinkedHashSet;
import java.util.List;

/**
 * Groups of a worker, by name. Their members define their purpose.
 *
 * @param names at most {@link #MAX} different ones, each 1 to 127 of {@code A-Z a-z 0-9 - _ : .}
 */
public record Groups(List<String> names) {

    /** Max groups of one worker. */
    public static final int MAX = 64;

    private static final String NAME = "[A-Za-z0-9_:.-]{1,127}"; // compiled for names only: a join has none

    private static final int MAX_SHOWN = 127;

    /** Value without groups. */
    public static final Groups NONE = new Groups(List.of());

    public Groups {
        names = List.copyOf(names);
        if (names.size() > MAX || new LinkedHashSet<>(names).size() < names.size()) {
            throw new IllegalArgumentException(
                    "expected at most " + MAX + " different groups, found " + names.size() + " names");
        }
        for (String name : names) { // no method reference: a join loads few classes
            requireName(name);
        }
    }

    private static void requireName(String name) {
        if (!name.matches(NAME)) {
            String start = name.length() <= MAX_SHOWN ? name : name.substring(0, MAX_SHOWN) + "…";
            throw new IllegalArgumentException(
                    "expected a group's name that matches " + NAME + ", found '" + start + "'");
        }
    }

    /** Returns groups of these names. */
    public static Groups of(String... names) {
        return new Groups(List.of(names));
    }
}
