package io.waybill;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Ratchet for the wording of comments in main sources and of the documentation. Counts phrases that the style page
 * discourages, per module and phrase; a count may fall, and never rise above the one in {@code wording.counts}.
 *
 * <p>{@code -Dwaybill.wording.update=true} lowers the counts in the file to the present ones.
 */
@Timeout(120)
class WordingTest {

    private static final String COUNTS = "system-tests/src/test/resources/io/waybill/wording.counts";
    private static final int MAX_SHOWN = 10;

    /** Comments of Java, and literals, which are skipped. */
    private static final Pattern COMMENT = Pattern.compile(
            "\"\"\".*?\"\"\"|\"(?:\\\\.|[^\"\\\\\n])*\"|'(?:\\\\.|[^'\\\\\n])*'|/\\*.*?\\*/|//[^\n]*", Pattern.DOTALL);

    /** Code in Markdown, which is skipped. */
    private static final Pattern CODE = Pattern.compile("```.*?```|`[^`\n]*`", Pattern.DOTALL);

    /** A discouraged phrase. The remedy is part of the failure's text. */
    private enum Phrase {
        CLAUSE_FIRST(
                "/\\*\\*[\\s*]*(?:What|Whether|Where|Who|Whose|How|When|Why|Which|Those|As|Of|It|They|The one)\\b",
                "begin javadoc with a noun phrase or a third-person verb"),
        WHAT_BEGINS("(?:[.;:]|//)[\\s*/]+What\\b(?![^.]*\\?)", "begin the sentence with its subject, a noun"),
        THOSE_BEGINS("(?:[.;:]|//)[\\s*/]+(?:Those|The ones?) (?:that|which|who)\\b", "repeat the noun"),
        LOOKS("(?i)\\blook(?:s|ed|ing)?\\b(?! ?ups?\\b)", "write reads, checks, finds or scans"),
        REPORTS("(?i)\\b(?:told|tells?)\\b", "write is notified, reports or is set"),
        PRONOUN("(?i)\\b(?:whoever|nobody|somebody|anybody|everybody)\\b", "name the component"),
        PHRASAL(
                "(?i)\\b(?:tak(?:e|es|en|ing) (?:over|out)|g(?:ive|ives|iven|iving) (?:up|back)|go(?:es)? on)\\b",
                "write acquires, removes, abandons, returns or continues"),
        SO_MANY("(?i)\\bso (?:many|long|much|often)\\b", "name the number or the time");

        private final Pattern pattern;
        private final String remedy;

        Phrase(String pattern, String remedy) {
            this.pattern = Pattern.compile(pattern);
            this.remedy = remedy;
        }
    }

    /** Occurrence of a phrase. */
    private record Found(Path file, int line, String text) {
        @Override
        public String toString() {
            return file + ":" + line + ": " + text;
        }
    }

    private final Path root = Repository.root();

    @Test
    void hasNoMoreDiscouragedPhrasesThanBefore() throws IOException {
        Map<String, List<Found>> found = count(root);
        assertThat(found).as("areas and phrases").isNotEmpty();
        Map<String, Integer> allowed = allowed(Files.readAllLines(root.resolve(COUNTS)));
        assertThat(risen(root, found, allowed)).as("phrases that became more").isEmpty();
        if (Boolean.getBoolean("waybill.wording.update")) {
            write(found);
        }
    }

    @Test
    void namesTheNewestOccurrenceOfARisenCount(@TempDir Path directory) throws IOException {
        Path old = source(directory, "Old.java", "/** Reads. It looks at a file. */\nclass Old {}\n");
        Path added = source(directory, "Added.java", "/** Table. */\nclass Added {\n    int a; // looks for it\n}\n");
        Files.setLastModifiedTime(old, FileTime.fromMillis(1_000));
        String message = String.join("\n", risen(directory, count(directory), Map.of("module LOOKS", 1)));
        assertThat(message).contains("module LOOKS: 2, and 1 before", "write reads, checks, finds");
        assertThat(message.indexOf("Added.java:3")).isPositive().isLessThan(message.indexOf("Old.java:1"));
        assertThat(added).exists();
    }

    @Test
    void readsCommentsAndNoLiterals(@TempDir Path directory) throws IOException {
        source(
                directory,
                "A.java",
                "/**\n * What it is. Those that ran, so many.\n */\nclass A { String s = \"told\"; }\n");
        assertThat(count(directory).keySet())
                .containsExactly("module CLAUSE_FIRST", "module SO_MANY", "module THOSE_BEGINS");
    }

    private static Path source(Path directory, String name, String text) throws IOException {
        Path file = directory.resolve("module/src/main/java").resolve(name);
        Files.createDirectories(file.getParent());
        return Files.writeString(file, text);
    }

    private static Map<String, Integer> allowed(List<String> lines) {
        Map<String, Integer> allowed = new TreeMap<>();
        for (String line : lines) {
            int at = line.lastIndexOf(' ');
            if (!line.startsWith("#") && at > 0) {
                allowed.put(line.substring(0, at), Integer.parseInt(line.substring(at + 1)));
            }
        }
        return allowed;
    }

    /** Describes each count that is above the allowed one, with its newest occurrences. */
    private static List<String> risen(Path root, Map<String, List<Found>> found, Map<String, Integer> allowed) {
        List<String> risen = new ArrayList<>();
        found.forEach((key, occurrences) -> {
            int max = allowed.getOrDefault(key, 0);
            if (occurrences.size() > max) {
                Phrase phrase = Phrase.valueOf(key.substring(key.lastIndexOf(' ') + 1));
                StringBuilder text = new StringBuilder(
                        key + ": " + occurrences.size() + ", and " + max + " before; " + phrase.remedy);
                occurrences.stream()
                        .sorted(Comparator.comparing((Found each) -> modified(root.resolve(each.file)))
                                .reversed())
                        .limit(MAX_SHOWN)
                        .forEach(each -> text.append("\n    ").append(each));
                risen.add(text.toString());
            }
        });
        return risen;
    }

    private static Map<String, List<Found>> count(Path root) {
        Map<String, List<Found>> found = new TreeMap<>();
        for (Path file : Repository.files(root, ".java")) {
            if (file.toString().contains("/src/main/java/")) {
                String text = read(file);
                Matcher comment = COMMENT.matcher(text);
                while (comment.find()) {
                    if (comment.group().startsWith("/")) {
                        find(root, file, text, comment.start(), comment.group(), found);
                    }
                }
            }
        }
        for (Path file : Repository.files(root, ".md")) {
            if (root.relativize(file).startsWith("docs")) {
                String text = read(file);
                String prose =
                        CODE.matcher(text).replaceAll(code -> code.group().replaceAll("[^\n]", "_"));
                find(root, file, text, 0, prose, found);
            }
        }
        return found;
    }

    private static void find(
            Path root, Path file, String text, int start, String part, Map<String, List<Found>> found) {
        for (Phrase phrase : Phrase.values()) {
            Matcher matcher = phrase.pattern.matcher(part);
            while (matcher.find()) {
                int at = start + matcher.end() - 1;
                int line = (int)
                        text.substring(0, at).chars().filter(c -> c == '\n').count();
                found.computeIfAbsent(area(root.relativize(file)) + " " + phrase, key -> new ArrayList<>())
                        .add(new Found(root.relativize(file), line + 1, text.split("\n", -1)[line].strip()));
            }
        }
    }

    /** Returns the module of a source, or the directory of a page. */
    private static String area(Path file) {
        int source = file.toString().indexOf("/src/main/java/");
        if (source > 0) {
            return file.toString().substring(0, source);
        }
        return file.startsWith("docs/adr") ? "docs/adr" : "docs";
    }

    private void write(Map<String, List<Found>> found) throws IOException {
        StringBuilder text =
                new StringBuilder("# Max number of each phrase of WordingTest, by module. Only lower them.\n");
        found.forEach((key, occurrences) ->
                text.append(key).append(' ').append(occurrences.size()).append('\n'));
        Files.writeString(root.resolve(COUNTS), text);
    }

    private static long modified(Path file) {
        try {
            return Files.getLastModifiedTime(file).toMillis();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static String read(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
