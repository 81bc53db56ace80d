package io.waybill.script.source;

import io.waybill.script.source.PythonTokens.Kind;
import io.waybill.script.source.PythonTokens.Token;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;

/**
 * Rewrites a statement for libtorch's compiler, like PyTorch's front end: the names of modules, exceptions, f-strings
 * and numbers. All other text is unchanged, and libtorch checks it. Lines keep their numbers.
 *
 * <p><b>Threads.</b> One. <b>Errors.</b> A statement that only Python could run is refused, with the line.
 */
class Translation {

    private static final Set<String> KEYWORDS = Set.of(
            "and",
            "as",
            "assert",
            "break",
            "class",
            "continue",
            "def",
            "del",
            "elif",
            "else",
            "except",
            "finally",
            "for",
            "from",
            "global",
            "if",
            "import",
            "in",
            "is",
            "lambda",
            "nonlocal",
            "not",
            "or",
            "pass",
            "raise",
            "return",
            "try",
            "while",
            "with",
            "yield",
            "True",
            "False",
            "None");

    /** Decorators without an effect here. */
    private static final Set<String> DECORATORS =
            Set.of("torch.jit.script", "torch.jit.export", "torch.jit.script_if_tracing", "torch.jit.script_method");

    private final String text;
    private final List<Token> tokens;
    private final Scope scope;
    private final Locals locals;
    /** Definitions of the same source that it uses, with the line. */
    private final Map<String, Integer> uses = new TreeMap<>();
    /** The {@code for} of comprehensions whose elements get brackets. */
    private final Set<Integer> bracketed = new HashSet<>();
    /** Replacements, in the order of the text. */
    private final List<Edit> edits = new ArrayList<>();

    private record Edit(int start, int end, String by) {}

    Translation(String text, List<Token> tokens, Scope scope) {
        this.text = text;
        this.tokens = tokens;
        this.scope = scope;
        this.locals = Locals.of(tokens);
    }

    Map<String, Integer> uses() {
        return uses;
    }

    /** Returns the text of the tokens between these two, rewritten. */
    String translated(int from, int to) throws ScriptRefusedException {
        translate(from, to);
        StringBuilder result = new StringBuilder();
        int at = tokens.get(from).start();
        for (Edit edit : edits) {
            result.append(text, at, edit.start).append(edit.by);
            at = edit.end;
        }
        return result.append(text, at, tokens.get(to - 1).end()).toString();
    }

    /** Replaces a part. A string of several lines moves its line ends to its end, where libtorch ignores them. */
    private void replace(int start, int end, String by) {
        edits.add(new Edit(start, end, by));
    }

    private void translate(int from, int to) throws ScriptRefusedException {
        for (int i = from; i < to; i++) {
            Token token = tokens.get(i);
            if (token.kind() == Kind.STRING) {
                i = string(i);
            } else if (token.kind() == Kind.NUMBER) {
                number(token);
            } else if (token.is("[") || token.is("{")) {
                comprehension(i);
            } else if (token.is("for") && bracketed.contains(i)) {
                replace(token.start(), token.start(), ") ");
            } else if (token.is("class") && at(i + 2).is("(")) {
                i = bases(i);
            } else if (token.is("raise")) {
                i = raise(i);
            } else if (token.is("@") && startsLine(i)) {
                i = decorator(i);
            } else if (token.isName() && !KEYWORDS.contains(token.text())) {
                i = name(i);
            }
        }
    }

    private static long lines(String text) {
        return text.chars().filter(c -> c == '\n').count();
    }

    private Token at(int index) {
        return index < tokens.size() ? tokens.get(index) : tokens.get(tokens.size() - 1);
    }

    private boolean startsLine(int i) {
        return i == 0 || tokens.get(i - 1).kind() == Kind.NEWLINE;
    }

    private int string(int i) throws ScriptRefusedException {
        int last = i;
        while (last + 1 < tokens.size() && tokens.get(last + 1).kind() == Kind.STRING) {
            last++;
        }
        int start = at(i).start();
        int end = at(last).end();
        Optional<String> type = type(i);
        if (type.isPresent()) {
            replace(start, end, type.get());
            return i;
        }
        boolean isDocumentation = i > 0 && startsLine(i) && at(last + 1).kind() == Kind.NEWLINE;
        String by = isDocumentation ? "pass" : FormattedString.of(tokens.subList(i, last + 1), e -> nested(e, i));
        String missing = "\n".repeat((int) Math.max(0, lines(text.substring(start, end)) - lines(by)));
        boolean isCall = by.endsWith(")") && !missing.isEmpty();
        replace(start, end, isCall ? by.substring(0, by.length() - 1) + missing + ")" : by + missing);
        return last;
    }

    /** Returns the class that an annotation in quotes names. */
    private Optional<String> type(int i) {
        boolean isAnnotation =
                i > 0 && (at(i - 1).is("->") || at(i - 1).is(":") || at(i - 1).is("["));
        String name = at(i).text().replaceAll("^['\"]|['\"]$", "");
        if (!isAnnotation || isLocal(i, name) || scope.definition(name).isEmpty()) {
            return Optional.empty();
        }
        uses.putIfAbsent(name, at(i).line());
        return scope.own(name, false);
    }

    private String nested(String expression, int at) throws ScriptRefusedException {
        List<Token> inner = PythonTokens.of("(" + expression + ")").tokens();
        // as names of the enclosing scope
        Translation translation = new Translation("(" + expression + ")", inner, scope) {
            @Override
            boolean isLocal(int index, String name) {
                return super.isLocal(index, name) || Translation.this.isLocal(at, name);
            }
        };
        String result;
        try {
            result = translation.translated(1, inner.size() - 2);
        } catch (ScriptRefusedException e) {
            throw refused(at(at), e.getMessage().replaceFirst("line \\d+: ", ""));
        }
        translation.uses.keySet().forEach(name -> uses.putIfAbsent(name, at(at).line()));
        return result;
    }

    boolean isLocal(int index, String name) {
        return locals.has(index, name);
    }

    /** Converts a number to decimal, the only form that libtorch parses. */
    private void number(Token token) {
        String plain = token.text().replace("_", "");
        String prefix = plain.length() > 2 ? plain.substring(0, 2).toLowerCase(Locale.ROOT) : "";
        int radix = prefix.equals("0x") ? 16 : prefix.equals("0o") ? 8 : prefix.equals("0b") ? 2 : 10;
        try {
            replace(
                    token.start(),
                    token.end(),
                    radix == 10 ? plain : Long.toString(Long.parseLong(plain.substring(2), radix)));
        } catch (NumberFormatException e) {
            replace(token.start(), token.end(), token.text()); // libtorch reports it
        }
    }

    /**
     * Rewrites a raise: libtorch itself raises only an AssertionError; an operator of the interpreter raises others.
     */
    private int raise(int i) throws ScriptRefusedException {
        int at = i + 1;
        if (!at(at).isName()) {
            throw refused(at(i), "raise without an exception repeats one, and TorchScript catches none");
        }
        while (at(at + 1).is(".")) {
            at += 2;
        }
        String kind = at(at).text();
        // in this line, not in an added function: the traceback has the position of the operator
        String head = "raise AssertionError(ops.prim.RaiseException(";
        String tail = ", \"builtins." + kind + "\"))";
        boolean isCalled = at(at + 1).is("(");
        int close = isCalled ? closing(at + 1) : at;
        if (!isCalled || at + 2 == close) {
            replace(at(i).start(), at(close).end(), head + "\"\"" + tail);
        } else {
            boolean several = hasComma(at + 1, close);
            replace(at(i).start(), at(at + 1).end(), head + "str(" + (several ? "(" : ""));
            translate(at + 2, close);
            replace(at(close).start(), at(close).end(), (several ? "))" : ")") + tail);
        }
        if (!at(close + 1).is("from")) {
            return close;
        }
        int end = close + 1;
        while (at(end).kind() != Kind.NEWLINE) {
            end++;
        }
        replace(at(close + 1).start(), at(end).start(), "");
        return end;
    }

    private int closing(int open) {
        int depth = 0;
        for (int i = open; i < tokens.size(); i++) {
            depth += depth(tokens.get(i));
            if (depth == 0) {
                return i;
            }
        }
        return tokens.size() - 1;
    }

    /**
     * Adds brackets around an element of a comprehension with an {@code if}, because {@code for} binds stronger in
     * libtorch's grammar.
     */
    private void comprehension(int open) {
        int close = closing(open);
        int depth = 0;
        int element = open + 1;
        boolean isChoice = false;
        for (int i = open; i < close; i++) {
            depth += depth(tokens.get(i));
            if (depth == 1 && tokens.get(i).is(":")) {
                element = i + 1;
            } else if (depth == 1 && tokens.get(i).is("if")) {
                isChoice = true;
            } else if (depth == 1 && tokens.get(i).is("for")) {
                if (isChoice) {
                    replace(at(element).start(), at(element).start(), "(");
                    bracketed.add(i);
                }
                return;
            }
        }
    }

    private boolean hasComma(int open, int close) {
        int depth = 0;
        for (int i = open; i + 1 < close; i++) {
            depth += depth(tokens.get(i));
            if (depth == 1 && tokens.get(i).is(",")) {
                return true;
            }
        }
        return false;
    }

    private static int depth(Token token) {
        if (token.is("(") || token.is("[") || token.is("{")) {
            return 1;
        }
        return token.is(")") || token.is("]") || token.is("}") ? -1 : 0;
    }

    private int decorator(int i) throws ScriptRefusedException {
        int last = chain(i + 1);
        String name = full(i + 1, last);
        if (!DECORATORS.contains(name)) {
            throw refused(at(i), "the decorator @" + name + " is Python: TorchScript has none like it");
        }
        int end = last;
        while (at(end + 1).kind() != Kind.NEWLINE) {
            end++;
        }
        replace(at(i).start(), at(end).end(), "");
        return end;
    }

    /** Removes the base that every class has, which libtorch does not support. */
    private int bases(int i) {
        int close = at(i + 3).is("object") ? i + 4 : i + 3;
        if (!at(close).is(")")) {
            return i;
        }
        replace(at(i + 2).start(), at(close).end(), "");
        return close;
    }

    /** Returns the last token of a name with dots. */
    private int chain(int first) {
        int last = first;
        while (at(last + 1).is(".") && at(last + 2).isName()) {
            last += 2;
        }
        return last;
    }

    /** Returns a name with dots, qualified by the imports. */
    private String full(int first, int last) {
        StringBuilder name = new StringBuilder(
                scope.imported(at(first).text()).orElse(at(first).text()));
        for (int i = first + 2; i <= last; i += 2) {
            name.append('.').append(at(i).text());
        }
        return name.toString();
    }

    private int name(int i) throws ScriptRefusedException {
        Token before = at(Math.max(0, i - 1));
        String head = at(i).text();
        boolean isKeyword = at(i + 1).is("=") && i > 0 && (before.is("(") || before.is(","));
        boolean isDefined = i > 0 && (before.is("def") || before.is("class") || before.is("."));
        if (isKeyword || isDefined || isLocal(i, head) || head.equals("__torch__")) {
            return isKeyword || isDefined ? i : chain(i);
        }
        Optional<String> own = scope.own(head, at(i + 1).is("("));
        if (own.isPresent()) {
            uses.putIfAbsent(head, at(i).line());
            replace(at(i).start(), at(i).end(), own.get());
            return i;
        } else if (scope.isVariable(head)) {
            throw refused(at(i), head + " is no constant: a function takes it as an argument");
        } else if (scope.imported(head).isPresent()) {
            return imported(i);
        }
        Scope.builtInType(head)
                .filter(type -> at(i + 1).is("["))
                .ifPresent(type -> replace(at(i).start(), at(i).end(), type));
        return i;
    }

    private int imported(int first) throws ScriptRefusedException {
        int whole = chain(first);
        for (int last = whole; last >= first; last -= 2) {
            String name = full(first, last);
            boolean isCalled = at(last + 1).is("(");
            if (name.equals("torch.jit.is_tracing") && isCalled) {
                replace(at(first).start(), at(last + 2).end(), "False");
                return last + 2;
            }
            Optional<String> known = TorchNames.of(name, isCalled);
            if (known.isPresent()) {
                replace(at(first).start(), at(last).end(), known.get());
                return whole;
            }
        }
        throw refused(at(first), full(first, whole) + " is Python: TorchScript has nothing like it");
    }

    private static ScriptRefusedException refused(Token token, String why) {
        return new ScriptRefusedException("line " + token.line() + ": " + why);
    }
}
