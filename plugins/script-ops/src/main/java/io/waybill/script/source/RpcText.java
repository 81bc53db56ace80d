package io.waybill.script.source;

import io.waybill.script.RpcGraphs;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * Rewrites calls of other workers for libtorch. Libtorch for Java has no {@code rpc.rpc_sync}, and a function of
 * TorchScript has one type of result. Therefore each call becomes a call of an appended function with the type of the
 * called function; {@link RpcGraphs} inserts the call of Java into it.
 *
 * <p>Lines keep their numbers. A text without calls is not changed.
 */
public final class RpcText {

    /** Prefix of the names of added functions. */
    static final String PREFIX = "__";

    /** Way of calling; the constants' names are part of the added functions' names. */
    public enum Way {
        RPC_SYNC,
        RPC_ASYNC,
        REMOTE;

        public String pythonName() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    /** Function that is called in one way. */
    public record Target(Way way, String function) {

        public String caller() {
            return PREFIX + way.pythonName() + "__" + function;
        }

        /** Returns the name of the function that leaves libtorch. */
        public String bridge() {
            return PREFIX + "bridge" + caller();
        }
    }

    /**
     * Inference of the type of a function's result, in the form of an annotation, if its header does not declare it.
     */
    public interface Inference {
        String resultType(String function, String textWithoutCalls) throws ScriptRefusedException;
    }

    private static final Pattern CALL = Pattern.compile(
            "(?<![\\w.])(?:torch\\s*\\.\\s*distributed\\s*\\.\\s*)?rpc\\s*\\.\\s*(rpc_sync|rpc_async|remote)\\s*\\(");
    private static final Pattern HEADER = Pattern.compile("^def\\s+(\\w+)\\s*\\(", Pattern.MULTILINE);
    private static final Pattern KEYWORD = Pattern.compile("\\s*(\\w+)\\s*=(?!=)");
    private static final Pattern RREF_TYPE = Pattern.compile("(?<![\\w.])(?:rpc\\s*\\.\\s*)?RRef\\s*\\[");
    private static final Pattern FORK = Pattern.compile("\\bjit\\s*(?:\\.\\s*_?fork\\b|import\\b.*\\b_?fork\\b)");
    private static final List<String> PARAMETERS = List.of("to", "func", "args", "kwargs", "timeout");

    private final Map<String, String> headers = new LinkedHashMap<>();
    private final Map<Target, Boolean> targets = new LinkedHashMap<>();
    private final Set<Intrinsic> intrinsics = EnumSet.noneOf(Intrinsic.class);
    private String code;
    private String masked;

    private RpcText(String text) {
        set(text);
    }

    private void set(String text) {
        this.code = mask(text, false);
        this.masked = mask(text, true);
    }

    /** Returns whether the text calls other workers, or uses references. */
    public static boolean isNeeded(String text) {
        String masked = mask(text, true);
        return CALL.matcher(masked).find()
                || RREF_TYPE.matcher(masked).find()
                || PassText.isNeeded(masked)
                || ScopeText.isNeeded(masked);
    }

    /** Text to compile, with its call targets and intrinsics. */
    public record Prepared(String text, List<Target> targets, Set<Intrinsic> intrinsics) {}

    public static Prepared of(String text, Inference inference) throws ScriptRefusedException {
        RpcText rpc = new RpcText(text);
        Matcher fork = FORK.matcher(rpc.masked);
        if (fork.find()) { // its task would call Java on a thread of libtorch's, for which the JVM would wait when it
            // exits
            throw rpc.refused(
                    fork.start(),
                    "torch.jit.fork does not go with calls of other workers in one file; use rpc.rpc_async");
        }
        // References are futures in the compiler, which has none of their methods: a wait fetches the value.
        rpc.set(ScopeText.rewritten(PassText.rewritten(rpc.code, rpc.intrinsics), rpc.intrinsics));
        rpc.set(ReferenceText.rewritten(replaced(RREF_TYPE, "Future[", rpc.code), rpc.intrinsics));
        rpc.readHeaders();
        String body = rpc.rewritten(0, rpc.code.length());
        StringBuilder added = new StringBuilder(body).append("\n");
        for (Target target : rpc.targets.keySet()) {
            String result = rpc.resultType(target, inference);
            added.append(helpers(target, result));
        }
        added.append(rpc.intrinsicFunctions());
        return new Prepared(added.toString(), List.copyOf(rpc.targets.keySet()), rpc.intrinsics);
    }

    static String replaced(Pattern pattern, String by, String text) {
        Matcher found = pattern.matcher(mask(text, true));
        StringBuilder result = new StringBuilder();
        int from = 0;
        while (found.find()) {
            result.append(text, from, found.start()).append(by);
            from = found.end();
        }
        return result.append(text.substring(from)).toString();
    }

    private void readHeaders() {
        Matcher header = HEADER.matcher(masked);
        while (header.find()) {
            int close = closing(header.end() - 1);
            int colon = close < 0 ? -1 : depthZero(close + 1, ':');
            if (colon > 0) {
                String between = code.substring(close + 1, colon).strip();
                headers.put(
                        header.group(1),
                        between.startsWith("->") ? between.substring(2).strip() : "");
            }
        }
    }

    private String resultType(Target target, Inference inference) throws ScriptRefusedException {
        String annotated = headers.get(target.function);
        return annotated.isEmpty() ? inference.resultType(target.function, withoutCallers()) : annotated;
    }

    /** Returns the functions without calls, with which the types of other results can be inferred. */
    private String withoutCallers() {
        List<Integer> starts = new ArrayList<>();
        Matcher header = HEADER.matcher(masked);
        while (header.find()) {
            starts.add(header.start());
        }
        starts.add(code.length());
        StringBuilder text = new StringBuilder();
        for (int i = 0; i + 1 < starts.size(); i++) {
            if (!CALL.matcher(masked.substring(starts.get(i), starts.get(i + 1)))
                    .find()) {
                text.append(code, starts.get(i), starts.get(i + 1));
            }
        }
        return text.append("\n").append(intrinsicFunctions()).toString();
    }

    private String intrinsicFunctions() {
        return intrinsics.stream().map(Intrinsic::functions).collect(Collectors.joining());
    }

    private String rewritten(int from, int to) throws ScriptRefusedException {
        StringBuilder result = new StringBuilder();
        Matcher call = CALL.matcher(masked).useTransparentBounds(true);
        int at = from;
        while (at < to && call.region(at, to).find()) {
            int close = closing(call.end() - 1);
            if (close < 0) {
                break; // libtorch reports the error
            }
            result.append(code, at, call.start());
            result.append(caller(Way.valueOf(call.group(1).toUpperCase(Locale.ROOT)), call.end(), close));
            at = close + 1;
        }
        return result.append(code, Math.min(at, to), to).toString();
    }

    private String caller(Way way, int from, int close) throws ScriptRefusedException {
        Map<String, String> given = arguments(way, from, close);
        String function = given.getOrDefault("func", "").strip();
        if (!headers.containsKey(function)) {
            throw refused(
                    from,
                    "rpc." + way.pythonName() + " calls a function of this file by its name, and "
                            + (function.isEmpty() ? "none is given" : function + " is none"));
        }
        if (!given.containsKey("to")) {
            throw refused(from, "rpc." + way.pythonName() + " lacks the name of the worker");
        }
        Target target = new Target(way, function);
        targets.put(target, true);
        String timeout = given.containsKey("timeout") ? "float(" + given.get("timeout") + ")" : "-1.0";
        String replaced = target.caller() + "(" + given.get("to") + ", " + given.getOrDefault("args", "()") + ", "
                + given.getOrDefault("kwargs", "None") + ", " + timeout;
        long missing = lines(code.substring(from, close)) - lines(replaced);
        return replaced + "\n".repeat((int) Math.max(0, missing)) + ")";
    }

    private Map<String, String> arguments(Way way, int from, int close) throws ScriptRefusedException {
        Map<String, String> given = new LinkedHashMap<>();
        int at = from;
        int count = 0;
        while (at < close) {
            int comma = depthZero(at, ',');
            int end = comma < 0 || comma > close ? close : comma;
            Matcher keyword = KEYWORD.matcher(masked).region(at, end);
            String name;
            int start = at;
            if (masked.substring(at, end).isBlank()) {
                break; // after the last comma
            } else if (keyword.lookingAt()) {
                name = keyword.group(1);
                start = keyword.end();
            } else {
                name = count < PARAMETERS.size() ? PARAMETERS.get(count) : "one more";
            }
            if (!PARAMETERS.contains(name) || given.put(name, rewritten(start, end)) != null) {
                throw refused(
                        from,
                        "rpc." + way.pythonName() + " takes (to, func, args, kwargs, timeout), each once, and not '"
                                + name + "'");
            }
            count++;
            at = end + 1;
        }
        return given;
    }

    private ScriptRefusedException refused(int at, String why) {
        return new ScriptRefusedException("line " + (lines(code.substring(0, at)) + 1) + ": " + why);
    }

    private static long lines(String text) {
        return text.chars().filter(c -> c == '\n').count();
    }

    /**
     * Returns the function that replaces the call, and the one that leaves libtorch, whose body is never run. The
     * assertion prevents libtorch from removing a call whose result is not used.
     */
    private static String helpers(Target target, String result) {
        String type = target.way == Way.RPC_SYNC ? result : "Future[" + result + "]";
        String parameters = "to: str, args: Any, kwargs: Any, timeout: float";
        return helpers(target.caller(), target.bridge(), parameters, "to, args, kwargs, timeout", type);
    }

    static String helpers(String caller, String bridge, String parameters, String arguments, String type) {
        String header = "(" + parameters + ") -> ";
        return "def " + caller + header + type + ":\n"
                + "    result, called = " + bridge + "(" + arguments + ")\n"
                + "    assert called\n"
                + "    return result\n"
                + "def " + bridge + header + "Tuple[" + type + ", bool]:\n"
                + "    nothing: Optional[Tuple[" + type + ", bool]] = None\n"
                + "    assert nothing is not None\n"
                + "    return nothing\n";
    }

    private int closing(int open) {
        return closing(masked, open);
    }

    /** Returns the position of the closing bracket; -1 if there is none. */
    static int closing(CharSequence masked, int open) {
        int depth = 0;
        for (int i = open; i < masked.length(); i++) {
            depth += depthOf(masked.charAt(i));
            if (depth == 0) {
                return i;
            }
        }
        return -1;
    }

    /** Returns the first position of this character outside of all brackets; -1 if the brackets end before. */
    private int depthZero(int from, char wanted) {
        int depth = 0;
        for (int i = from; i < masked.length() && depth >= 0; i++) {
            if (depth == 0 && masked.charAt(i) == wanted) {
                return i;
            }
            depth += depthOf(masked.charAt(i));
        }
        return -1;
    }

    static int depthOf(char c) {
        return switch (c) {
            case '(', '[', '{' -> 1;
            case ')', ']', '}' -> -1;
            default -> 0;
        };
    }

    /**
     * Returns the text with blanks for comments, and, optionally, for the content of strings; with the same length and
     * lines.
     */
    static String mask(String text, boolean strings) {
        StringBuilder result = new StringBuilder(text);
        int i = 0;
        while (i < text.length()) {
            char c = text.charAt(i);
            if (c == '#') {
                for (; i < text.length() && text.charAt(i) != '\n'; i++) {
                    result.setCharAt(i, ' ');
                }
            } else if (c == '"' || c == '\'') {
                String quote = text.startsWith(String.valueOf(c).repeat(3), i)
                        ? String.valueOf(c).repeat(3)
                        : String.valueOf(c);
                int end = endOfString(text, i + quote.length(), quote);
                for (int j = i + quote.length(); strings && j < end; j++) {
                    if (text.charAt(j) != '\n') {
                        result.setCharAt(j, ' ');
                    }
                }
                i = Math.min(text.length(), end + quote.length());
            } else {
                i++;
            }
        }
        return result.toString();
    }

    private static int endOfString(String text, int from, String quote) {
        for (int i = from; i < text.length(); i++) {
            if (text.charAt(i) == '\\') {
                i++;
            } else if (text.startsWith(quote, i) || quote.length() == 1 && text.charAt(i) == '\n') {
                return i;
            }
        }
        return text.length();
    }
}
