package io.waybill.api.tool;

import io.waybill.api.Value;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.osgi.annotation.versioning.ProviderType;

/**
 * One run of a command: its arguments and its output.
 *
 * <p><b>Threads.</b> Any thread of the command. <b>Lifetime.</b> Until {@link ToolCommand#run} returns or is cancelled;
 * after that, output throws {@link java.util.concurrent.CancellationException}.
 */
@ProviderType
public interface ToolRun {

    /** Max length of a line, in characters, and of a document, in bytes of its encoding. */
    int MAX_ITEM = 65_536;

    /** Max output of a run, in characters and bytes. */
    long MAX_OUTPUT = 64L << 20;

    /** Returns the arguments, without the options. Their number is checked. */
    List<String> arguments();

    /** Returns the value of an option; empty if it was not given. */
    Optional<String> option(String name);

    /** Returns whether a flag was given. */
    boolean isSet(String flag);

    /** Returns whether the user wants {@link #json} instead of {@link #line}. */
    boolean isJson();

    /**
     * Writes a line of text. The line is shown immediately, on standard error if the user wants JSON. Blocks while the
     * user's terminal does not read.
     *
     * @throws IllegalArgumentException if the line is longer than {@link #MAX_ITEM}
     * @throws java.util.concurrent.CancellationException if the run has ended, or has written more than
     *     {@link #MAX_OUTPUT}
     */
    void line(String text);

    /**
     * Writes a JSON document of numbers, strings, lists and dicts on one line. Otherwise like {@link #line}.
     *
     * @throws IllegalArgumentException if the document has a tensor or a reference, or is larger than {@link #MAX_ITEM}
     */
    void json(Value document);

    /** Returns whether the run was cancelled or has returned. */
    boolean isCancelled();

    /** Waits between repeated outputs of a command. Returns false immediately if the run is cancelled. */
    boolean pause(Duration time);
}
