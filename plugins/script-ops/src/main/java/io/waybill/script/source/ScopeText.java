package io.waybill.script.source;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Rewrites {@code with record_function(…):} as calls of added functions, because libtorch supports {@code with} only
 * for objects of classes. The content of the block replaces the block, and its return value is computed before the
 * scope ends. The end uses an empty line after the block, or a line of its own. The scopes of a failed function end
 * with its run.
 */
final class ScopeText {

    private static final Pattern WITH = Pattern.compile(
            "^([ \\t]*)with\\s+(?:torch\\s*\\.\\s*(?:autograd\\s*\\.\\s*)?profiler\\s*\\.\\s*)?record_function\\s*\\(",
            Pattern.MULTILINE);
    private static final Pattern HEADER_END = Pattern.compile("[ \\t]*(?:as[ \\t]+\\w+[ \\t]*)?:[ \\t]*\\n");
    private static final Pattern IMPORT = Pattern.compile(
            "^from torch\\.(?:autograd\\.)?profiler import record_function(?=[ \\t]*$)", Pattern.MULTILINE);
    private static final Pattern RETURN = Pattern.compile("[ \\t]*return\\b[ \\t]*(?=\\S)");
    private static final Pattern LEAVES = Pattern.compile("[ \\t]*(?:return|raise)\\b");
    private static final Pattern JUMP = Pattern.compile("[ \\t]*(?:break|continue)\\b");
    private static final Pattern LOOP = Pattern.compile("[ \\t]*(?:for|while)\\b");

    private ScopeText() {}

    /** Line with its continuation lines. */
    private record Statement(String text, String masked) {

        boolean isBlank() {
            return masked.isBlank();
        }

        int indent() {
            return masked.length() - masked.stripLeading().length();
        }

        boolean begins(Pattern pattern) {
            return pattern.matcher(masked).lookingAt();
        }
    }

    static boolean isNeeded(String masked) {
        return WITH.matcher(masked).find() || IMPORT.matcher(masked).find();
    }

    /** @param used receives the intrinsics that the text uses */
    static String rewritten(String code, Set<Intrinsic> used) throws ScriptRefusedException {
        String text = RpcText.replaced(IMPORT, "", code);
        MatchResult[] scopes = WITH.matcher(RpcText.mask(text, true)).results().toArray(MatchResult[]::new);
        for (int i = scopes.length - 1; i >= 0; i--) { // the inner ones first
            text = rewritten(text, scopes[i], used);
        }
        return text;
    }

    private static String rewritten(String text, MatchResult scope, Set<Intrinsic> used) throws ScriptRefusedException {
        String masked = RpcText.mask(text, true);
        int close = RpcText.closing(masked, scope.end() - 1);
        Matcher header = HEADER_END.matcher(masked);
        if (close < 0 || !header.region(close + 1, masked.length()).lookingAt()) {
            return text; // libtorch reports the error
        }
        List<Statement> behind = statements(text.substring(header.end()), masked.substring(header.end()));
        List<Statement> body = behind.subList(0, size(behind, scope.group(1).length()));
        if (body.isEmpty()) {
            return text;
        }
        requireStays(body, masked.substring(0, scope.start()));
        used.add(Intrinsic.RECORD_FUNCTION);
        used.add(Intrinsic.RECORD_FUNCTION_EXIT);
        StringBuilder result = new StringBuilder(text.substring(0, scope.start()));
        result.append(scope.group(1)).append(Intrinsic.RECORD_FUNCTION.caller());
        result.append(text, scope.end() - 1, close + 1).append('\n');
        int first = body.stream()
                .filter(each -> !each.isBlank())
                .findFirst()
                .orElseThrow()
                .indent();
        body.forEach(each -> result.append(inside(each, first - scope.group(1).length())));
        Statement last = body.get(body.size() - 1);
        int next = body.size();
        if (last.indent() > first || !last.begins(LEAVES)) {
            result.append(last.text().endsWith("\n") ? "" : "\n").append(scope.group(1));
            result.append(Intrinsic.RECORD_FUNCTION_EXIT.caller()).append("()\n");
            next += next < behind.size() && behind.get(next).isBlank() ? 1 : 0;
        }
        behind.subList(next, behind.size()).forEach(each -> result.append(each.text()));
        return result.toString();
    }

    private static void requireStays(List<Statement> body, String before) throws ScriptRefusedException {
        boolean isLeft = body.stream().anyMatch(each -> each.begins(JUMP));
        if (isLeft && body.stream().noneMatch(each -> each.begins(LOOP))) {
            long line = before.chars().filter(c -> c == '\n').count() + 1;
            throw new ScriptRefusedException(
                    "line " + line + ": break and continue can't leave a scope: expected the loop"
                            + " within record_function, found the loop around it; move the scope around the loop");
        }
    }

    /** Returns the number of deeper statements, without empty ones at the end. */
    private static int size(List<Statement> statements, int indent) {
        int size = 0;
        for (int i = 0; i < statements.size(); i++) {
            if (!statements.get(i).isBlank()) {
                if (statements.get(i).indent() <= indent) {
                    break;
                }
                size = i + 1;
            }
        }
        return size;
    }

    /**
     * Returns a statement of a block with less indentation; before a return, its value is computed and the scope ends.
     */
    private static String inside(Statement statement, int fewer) {
        if (statement.isBlank()) {
            return statement.text();
        }
        String text = statement.text().substring(Math.min(fewer, statement.indent()));
        String masked = statement.masked().substring(Math.min(fewer, statement.indent()));
        Matcher returned = RETURN.matcher(masked);
        if (!returned.lookingAt()) {
            return text;
        }
        int end = masked.stripTrailing().length();
        return text.substring(0, returned.end()).stripTrailing() + " ((" + text.substring(returned.end(), end) + "), "
                + Intrinsic.RECORD_FUNCTION_EXIT.caller() + "())[0]" + text.substring(end);
    }

    private static List<Statement> statements(String text, String masked) {
        List<Statement> statements = new ArrayList<>();
        int from = 0;
        int depth = 0;
        for (int i = 0; i < text.length(); i++) {
            char c = masked.charAt(i);
            depth += RpcText.depthOf(c);
            if (c == '"' || c == '\'') { // the content of a string is blank
                String triple = String.valueOf(c).repeat(3);
                String quote = masked.startsWith(triple, i) ? triple : triple.substring(0, 1);
                int end = masked.indexOf(quote, i + quote.length());
                i = end < 0 ? text.length() : end + quote.length() - 1;
            } else if (c == '\n' && depth <= 0 && (i == 0 || masked.charAt(i - 1) != '\\')) {
                statements.add(new Statement(text.substring(from, i + 1), masked.substring(from, i + 1)));
                from = i + 1;
            }
        }
        if (from < text.length()) {
            statements.add(new Statement(text.substring(from), masked.substring(from)));
        }
        return statements;
    }
}
