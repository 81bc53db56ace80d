package io.waybill.cli.conformance.play;

import io.waybill.cli.conformance.format.Fields;
import io.waybill.cli.conformance.format.FormatException;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import java.util.regex.PatternSyntaxException;

/** What an error has to be. Immutable. */
final class ExpectedError {

    private static final int MAX_PATTERN = 1_000;

    private final Fields fields;

    ExpectedError(Fields fields) {
        this.fields = fields;
    }

    List<String> differences(Outcome.Failure found) throws FormatException {
        List<String> wrong = new ArrayList<>();
        same("kind", found.kind(), wrong);
        same("code", found.code(), wrong);
        same("type", found.type(), wrong);
        same("text", found.text(), wrong);
        if (fields.has("contains") && !found.text().contains(fields.text("contains"))) {
            wrong.add("expected an error with '" + fields.text("contains") + "', found " + found);
        }
        if (fields.has("matches")
                && !pattern(fields.text("matches")).matcher(found.text()).find()) {
            wrong.add("expected an error that matches '" + fields.text("matches") + "', found " + found);
        }
        return wrong;
    }

    private void same(String name, String found, List<String> wrong) throws FormatException {
        String expected = fields.text(name, found);
        if (!expected.equals(found)) {
            wrong.add("expected an error of the " + name + " '" + expected + "', found '" + found + "'");
        }
    }

    private static Pattern pattern(String text) throws FormatException {
        if (text.length() > MAX_PATTERN) {
            throw new FormatException("a pattern has at most " + MAX_PATTERN + " characters, not " + text.length());
        }
        try {
            return Pattern.compile(text, Pattern.DOTALL);
        } catch (PatternSyntaxException e) {
            throw new FormatException("'" + text + "' is no pattern: " + e.getDescription(), e);
        }
    }
}
