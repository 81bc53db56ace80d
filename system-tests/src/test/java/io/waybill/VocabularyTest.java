package io.waybill;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** That names in main and test sources use one word for each thing: the field's. A name is what stands outside of comments and texts. */
@Timeout(60)
class VocabularyTest {

    /** What stands for the words that are not used: what to write instead. */
    private static final Map<String, String> RETIRED = Map.ofEntries(
            Map.entry("answers?|answered|answering|repl(y|ies|ied)", "response, respond"),
            Map.entry("life|lives|lifes|generations?", "incarnation, epoch"),
            Map.entry("loan(s|ed)?|len[dt]s?|borrow(s|ed)?", "lease"),
            Map.entry("lanes?|inlet|outlet", "appender, sender, receiver"),
            Map.entry("mend(s|ed)?", "repair, fix"),
            Map.entry("anew", "from scratch"),
            Map.entry("nobody|somebody|whoever", "the component's name"),
            Map.entry("told|tells?", "notified, report"),
            Map.entry("longest", "max"),
            Map.entry("contender", "candidate"),
            Map.entry("bypass(es)?", "unrecorded input"),
            Map.entry("settle[sd]?|settling", "complete"));

    /** A step of the conformance cases, whose files have this word. */
    private static final Set<String> ALLOWED = Set.of("SETTLE");

    private static final Pattern TOKEN = Pattern.compile(
            "\"\"\".*?\"\"\"|\"(?:\\\\.|[^\"\\\\\n])*\"|'(?:\\\\.|[^'\\\\])*'"
                    + "|/\\*.*?\\*/|//[^\n]*|[A-Za-z_$][\\w$]*",
            Pattern.DOTALL);
    private static final Pattern WORD = Pattern.compile("[A-Z]+(?![a-z])|[A-Z]?[a-z]+");

    private static final String NOTHING = "";

    private final Path root = Repository.root();
    private final Map<String, String> insteadOf = new HashMap<>(); // of each name: most occur often

    @Test
    void hasOneWordForEachThing() {
        Set<String> wrong = new TreeSet<>();
        Repository.files(root, ".java").forEach(file -> check(file, wrong));
        assertThat(wrong)
                .as("names with words that are not used, and what is used instead")
                .isEmpty();
    }

    @Test
    void findsARetiredWordInAName() {
        assertThat(insteadOf("firstAnswerNs")).isEqualTo("response, respond");
        assertThat(insteadOf("MAX_LOANS")).isEqualTo("lease");
        assertThat(insteadOf("replayed")).isEqualTo(NOTHING);
        assertThat(insteadOf("recommended")).isEqualTo(NOTHING);
    }

    private void check(Path file, Set<String> wrong) {
        Matcher token = TOKEN.matcher(read(file));
        while (token.find()) {
            String name = token.group();
            if (Character.isJavaIdentifierStart(name.charAt(0)) && !ALLOWED.contains(name)) {
                String instead = insteadOf.computeIfAbsent(name, VocabularyTest::insteadOf);
                if (!instead.equals(NOTHING)) {
                    wrong.add(name + " in " + root.relativize(file) + ": " + instead);
                }
            }
        }
    }

    /** Returns what to use instead of a name, {@link #NOTHING} when it has no retired word. */
    private static String insteadOf(String name) {
        Matcher word = WORD.matcher(name);
        while (word.find()) {
            String lower = word.group().toLowerCase(Locale.ROOT);
            for (Map.Entry<String, String> retired : RETIRED.entrySet()) {
                if (lower.matches(retired.getKey())) {
                    return retired.getValue();
                }
            }
        }
        return NOTHING;
    }

    private static String read(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
