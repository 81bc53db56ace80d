package io.waybill.cli.command;

import io.waybill.cli.node.Quantities;
import java.time.Duration;

/** Reads the times of options, as {@link Quantities#duration} does. Immutable. */
public final class DurationOption extends ParsedOption<Duration> {

    /** Creates a converter; picocli creates one for each option. */
    public DurationOption() {
        super(Quantities::duration);
    }
}
