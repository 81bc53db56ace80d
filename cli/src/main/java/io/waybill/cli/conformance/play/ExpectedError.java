package io.waybill.cli.conformance.play;

import io.waybill.cli.conformance.format.Datum;
import io.waybill.cli.conformance.format.Fields;
import io.waybill.cli.conformance.format.FormatException;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.regex.PatternSyntaxException;

/** What an error has to be. Immutable. */
final class ExpectedError {

    private static final int MAX_PATTERN = 1_000;
    private static final Pattern NODE = Pattern.compile("Error on Node ([0-9]{1,5}): ");

    private final Fields fields;

    ExpectedError(Fields fields) {
        this.fields = fields;
    }

    List<String> differences(Outcome.Failure found) throws FormatException {
        List<String> wrong = new ArrayList<>();
        same("kind", found.kind(), wrong);
        same("code", found.code(), wrong);
        same("type", found.type(), wrong);
        sameNodes(found, wrong);
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

    /** Which nodes a text names in front, outermost first: none, unless the field says so. */
    private void sameNodes(Outcome.Failure found, List<String> wrong) throws FormatException {
        List<Long> expected = new ArrayList<>();
        if (fields.has("node")) {
            Datum node = fields.require("node");
            for (Datum each : node instanceof Datum.Row row ? row.values() : List.of(node)) {
                if (!(each instanceof Datum.Whole id)) {
                    throw new FormatException(
                            "node is the id of a worker, or an array of them, not " + node.described());
                }
                expected.add(id.value());
            }
        }
        List<Long> named = new ArrayList<>();
        Matcher prefix = NODE.matcher(found.text());
        while (prefix.lookingAt()) {
            named.add(Long.parseLong(prefix.group(1)));
            prefix.region(prefix.end(), found.text().length());
        }
        if (!expected.equals(named)) {
            wrong.add("expected an error that names the nodes " + expected + " in front, found " + found);
        }
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
