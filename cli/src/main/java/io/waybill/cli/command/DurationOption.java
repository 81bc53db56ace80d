package io.waybill.cli.command;

import io.waybill.cli.node.Quantities;
import java.time.Duration;

/** Parser of durations in options, with {@link Quantities#duration}. Immutable. */
public final class DurationOption extends ParsedOption<Duration> {

    /** Creates a converter; picocli creates one for each option. */
    public DurationOption() {
        super(Quantities::duration);
    }
}
