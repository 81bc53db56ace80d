package io.waybill.cli.command;

import io.waybill.cli.node.Quantities;
import java.time.Duration;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** Reads the times of options, as {@link Quantities#duration} does. Stateless. */
public final class DurationOption implements ITypeConverter<Duration> {

    @Override
    public Duration convert(String text) {
        try {
            return Quantities.duration(text);
        } catch (IllegalArgumentException e) {
            throw new TypeConversionException(e.getMessage());
        }
    }
}
