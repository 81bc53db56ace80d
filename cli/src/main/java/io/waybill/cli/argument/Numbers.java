package io.waybill.cli.argument;

import io.waybill.api.Value;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Parses numbers in Python's syntax. */
final class Numbers {

    private static final String FLOAT = "(?:[0-9]+\\.?[0-9]*|\\.[0-9]+)(?:[eE][+-]?[0-9]+)?|inf|infinity|nan";
    private static final Pattern INTEGER = Pattern.compile("[+-]?(?:0[xX][0-9a-fA-F]+|[0-9]+)");
    private static final Pattern REAL = Pattern.compile("[+-]?(?:" + FLOAT + ")");
    private static final Pattern COMPLEX = Pattern.compile("([+-]?(?:" + FLOAT + "))??([+-]?(?:" + FLOAT + "))[jJ]");

    private Numbers() {}

    /** Returns the value of a number; null if the word is none. */
    static Value value(String word) throws ArgumentException {
        if (INTEGER.matcher(word).matches()) {
            return Value.of(integer(word));
        }
        String lower = word.toLowerCase(Locale.ROOT);
        if (REAL.matcher(lower).matches()) {
            return Value.of(real(lower));
        }
        Matcher complex = COMPLEX.matcher(lower);
        if (complex.matches()) {
            String realPart = complex.group(1);
            String imaginary = complex.group(2);
            boolean isJoined = realPart == null || imaginary.charAt(0) == '+' || imaginary.charAt(0) == '-';
            if (isJoined) {
                return new Value.Complex(realPart == null ? 0 : real(realPart), real(imaginary));
            }
        }
        return null;
    }

    private static long integer(String word) throws ArgumentException {
        try {
            return Long.decode(word.matches("[+-]?0[0-9]+") ? word.replaceFirst("0+(?=[0-9])", "") : word);
        } catch (NumberFormatException e) {
            throw new ArgumentException("an integer has 64 bits: " + word, e);
        }
    }

    private static double real(String lower) {
        String digits = lower.charAt(0) == '+' || lower.charAt(0) == '-' ? lower.substring(1) : lower;
        double magnitude;
        switch (digits) {
            case "inf":
            case "infinity":
                magnitude = Double.POSITIVE_INFINITY;
                break;
            case "nan":
                magnitude = Double.NaN;
                break;
            default:
                magnitude = Double.parseDouble(digits);
        }
        return lower.charAt(0) == '-' ? -magnitude : magnitude;
    }
}
