package io.waybill.testing.core;

import io.waybill.api.Value;
import io.waybill.api.tool.ToolRun;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CancellationException;

/**
 * Run of a command in a test without a node, which keeps the command's output. {@link #pause} does not wait; the run is
 * cancelled after the number of pauses that {@link #endsAfter} sets. Checks neither arguments nor limits, unlike a
 * node. Thread-safe.
 */
public final class RecordingRun implements ToolRun {

    private final List<String> arguments;
    private final Map<String, String> options = new HashMap<>();
    private final List<String> lines = new ArrayList<>();
    private final List<Value> documents = new ArrayList<>();
    private boolean isJson;
    private int pausesLeft = 1;

    /** Creates a run with arguments. */
    public RecordingRun(String... arguments) {
        this.arguments = List.of(arguments);
    }

    /** Sets the value of an option. */
    public synchronized RecordingRun with(String option, String value) {
        options.put(option, value);
        return this;
    }

    /** Sets a flag. */
    public RecordingRun with(String flag) {
        return with(flag, "");
    }

    /** Selects JSON output. */
    public synchronized RecordingRun asJson() {
        isJson = true;
        return this;
    }

    /** Cancels the run in the pause after this number, like a user; 0 for the first pause, 1 by default. */
    public synchronized RecordingRun endsAfter(int pauses) {
        pausesLeft = pauses;
        return this;
    }

    /** Returns the lines that the command has written. */
    public synchronized List<String> lines() {
        return List.copyOf(lines);
    }

    /** Returns the documents that the command has written. */
    public synchronized List<Value> documents() {
        return List.copyOf(documents);
    }

    private void requireOpen() {
        if (isCancelled()) {
            throw new CancellationException("the run has ended");
        }
    }

    @Override
    public List<String> arguments() {
        return arguments;
    }

    @Override
    public synchronized Optional<String> option(String name) {
        return Optional.ofNullable(options.get(name));
    }

    @Override
    public synchronized boolean isSet(String flag) {
        return options.containsKey(flag);
    }

    @Override
    public synchronized boolean isJson() {
        return isJson;
    }

    @Override
    public synchronized void line(String text) {
        requireOpen();
        lines.add(text);
    }

    @Override
    public synchronized void json(Value document) {
        requireOpen();
        documents.add(document);
    }

    @Override
    public synchronized boolean isCancelled() {
        return pausesLeft < 0;
    }

    @Override
    public synchronized boolean pause(Duration time) {
        if (pausesLeft >= 0) {
            pausesLeft--;
        }
        return pausesLeft >= 0;
    }
}
