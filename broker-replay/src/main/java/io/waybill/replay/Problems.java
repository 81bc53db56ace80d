package io.waybill.replay;

import java.util.ArrayList;
import java.util.List;

/** What was wrong with a recording so far, in words. Thread-safe. */
final class Problems {

    private static final int MOST = 1000;

    private final List<String> texts = new ArrayList<>(); // guarded by this
    private long left; // guarded by this

    synchronized void add(String text) {
        if (texts.size() < MOST) {
            texts.add(text);
        } else {
            left++;
        }
    }

    synchronized List<String> all() {
        List<String> all = new ArrayList<>(texts);
        if (left > 0) {
            all.add("and " + left + " more");
        }
        return all;
    }
}
