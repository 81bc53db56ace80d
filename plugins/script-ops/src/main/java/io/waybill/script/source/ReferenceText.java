package io.waybill.script.source;

import java.util.Locale;
import java.util.Set;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Rewrites the methods of references for libtorch, in which a reference is a future: a fetch becomes the future's
 * {@code wait}, after a call that sets its options; other methods become calls with the future.
 */
final class ReferenceText {

    private static final Pattern METHOD =
            Pattern.compile("\\.\\s*(to_here|local_value|is_owner|confirmed_by_owner)\\s*\\(");
    private static final Pattern TIMEOUT = Pattern.compile("^\\s*timeout\\s*=(?!=)");

    private final StringBuilder code;
    private final StringBuilder masked;
    private final Set<Intrinsic> used;

    private ReferenceText(String text, Set<Intrinsic> used) {
        this.code = new StringBuilder(text);
        this.masked = new StringBuilder(RpcText.mask(text, true));
        this.used = used;
    }

    /** @param used receives the intrinsics that the text uses */
    static String rewritten(String text, Set<Intrinsic> used) {
        ReferenceText references = new ReferenceText(text, used);
        Matcher found = METHOD.matcher(references.masked.toString());
        MatchResult[] methods = found.results().toArray(MatchResult[]::new);
        for (int i = methods.length - 1; i >= 0; i--) { // from the end, so that earlier positions stay valid
            references.rewrite(methods[i]);
        }
        return references.code.toString();
    }

    private void rewrite(MatchResult method) {
        int close = RpcText.closing(masked, method.end() - 1);
        int start = receiver(method.start());
        if (close < 0 || start == method.start()) {
            return; // libtorch reports the error
        }
        String given = code.substring(method.end(), close);
        switch (method.group(1)) {
            case "to_here" -> {
                if (given.isBlank()) {
                    replace(method.start(), method.end(), ".wait(");
                } else {
                    fetch(
                            start,
                            method.start(),
                            close + 1,
                            use(Intrinsic.TO_HERE_WITHIN) + "(float("
                                    + TIMEOUT.matcher(given).replaceFirst("") + "))");
                }
            }
            case "local_value" ->
                fetch(start, method.start(), close + 1, use(Intrinsic.LOCAL_VALUE) + "(" + given + ")");
            default -> {
                String caller = use(Intrinsic.valueOf(method.group(1).toUpperCase(Locale.ROOT)));
                replace(method.start(), close + 1, given.isBlank() ? ")" : ", " + given + ")");
                replace(start, start, caller + "(");
            }
        }
    }

    private String use(Intrinsic intrinsic) {
        used.add(intrinsic);
        return intrinsic.caller();
    }

    /** Rewrites a fetch as a pair of the call before the wait and the future, whose second element is used. */
    private void fetch(int start, int dot, int end, String before) {
        replace(dot, end, ", " + before + ")[0].wait()");
        replace(start, start, "(");
    }

    private void replace(int from, int to, String by) {
        code.replace(from, to, by);
        masked.replace(from, to, RpcText.mask(by, true));
    }

    /** Returns the start of an expression from its end: names, calls and elements, separated by dots. */
    private int receiver(int end) {
        int at = end;
        while (at > 0) {
            int before = at;
            if (at == end || masked.charAt(at) == '.') {
                at = blanksBefore(at);
            }
            char last = at == 0 ? ' ' : masked.charAt(at - 1);
            if (RpcText.depthOf(last) < 0) {
                at = opening(at - 1);
            } else if (isOfName(last)) {
                while (at > 0 && isOfName(masked.charAt(at - 1))) {
                    at--;
                }
                int point = blanksBefore(at);
                if (point > 0 && masked.charAt(point - 1) == '.') {
                    at = point - 1;
                } else {
                    return at;
                }
            } else {
                return at == before || at == end ? at : before;
            }
        }
        return at;
    }

    private int blanksBefore(int at) {
        int blank = at;
        while (blank > 0 && Character.isWhitespace(masked.charAt(blank - 1))) {
            blank--;
        }
        return blank;
    }

    private int opening(int close) {
        int depth = 0;
        for (int i = close; i >= 0; i--) {
            depth += RpcText.depthOf(masked.charAt(i));
            if (depth == 0) {
                return i;
            }
        }
        return 0;
    }

    private static boolean isOfName(char c) {
        return Character.isLetterOrDigit(c) || c == '_';
    }
}
