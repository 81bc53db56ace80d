package io.waybill.replay.recording;

import java.util.ArrayList;
import java.util.List;

/** Problems of a recording so far. Thread-safe. */
final class RecordingProblems {

    private static final int MAX_TEXTS = 1000;

    private final List<String> texts = new ArrayList<>(); // guarded by this
    private long more; // guarded by this

    synchronized void add(String text) {
        if (texts.size() < MAX_TEXTS) {
            texts.add(text);
        } else {
            more++;
        }
    }

    synchronized List<String> all() {
        List<String> all = new ArrayList<>(texts);
        if (more > 0) {
            all.add("and " + more + " more");
        }
        return all;
    }
}
