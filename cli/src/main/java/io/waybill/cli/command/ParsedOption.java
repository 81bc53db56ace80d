package io.waybill.cli.command;

import java.util.function.Function;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/**
 * Converter of an option's value with a parser that throws {@link IllegalArgumentException}, whose message the user
 * sees. Immutable.
 */
public class ParsedOption<T> implements ITypeConverter<T> {

    private final Function<String, T> parser;

    /** Creates a converter with this parser. */
    public ParsedOption(Function<String, T> parser) {
        this.parser = parser;
    }

    @Override
    public final T convert(String text) {
        try {
            return parser.apply(text);
        } catch (IllegalArgumentException e) {
            throw new TypeConversionException(e.getMessage());
        }
    }
}
