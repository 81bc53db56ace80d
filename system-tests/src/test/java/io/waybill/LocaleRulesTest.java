package io.waybill;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** No main source, in any module, depends on the locale or the default charset: files, names and output are the same everywhere. */
@Timeout(60)
class LocaleRulesTest {

    private static final String LOCALE = "(?:java\\.util\\.)?Locale\\.";
    private static final String CHARSET = "StandardCharsets|UTF_8|US_ASCII|ISO_8859_1|[cC]harset|newEncoder|newDecoder";

    /** What depends on the locale, with what to write instead. */
    private static final Map<Pattern, String> JAVA = new LinkedHashMap<>();

    private static final Map<Pattern, String> PYTHON = new LinkedHashMap<>();

    static {
        java("\\bString\\s*\\.\\s*format\\(\\s*+(?!" + LOCALE + ")", "String.format(Locale.ROOT, …)");
        java("\\bString::format\\b", "String.format(Locale.ROOT, …)");
        java("\\.formatted\\(", "String.format(Locale.ROOT, …)");
        java("\\.printf\\(\\s*+(?!" + LOCALE + ")", "printf(Locale.ROOT, …)");
        java("\\bnew\\s+Formatter\\((?![^;]*" + LOCALE + ")", "a Formatter with Locale.ROOT");
        java("\\bto(?:Lower|Upper)Case\\(\\s*\\)", "Locale.ROOT as the argument");
        java("\\bString::to(?:Lower|Upper)Case\\b", "Locale.ROOT as the argument");
        java("\\bofPattern\\((?![^;]*" + LOCALE + ")", "ofPattern(…, Locale.ROOT)");
        java("\\bofLocalized", "ofPattern(…, Locale.ROOT)");
        java("\\b(?:Number|Decimal|SimpleDate|Choice|CompactNumber)Format\\b", "String.format(Locale.ROOT, …)");
        java("\\bMessageFormat\\s*\\.\\s*format\\(", "new MessageFormat(…, Locale.ROOT).format(…)");
        java("\\bnew\\s+MessageFormat\\((?![^;]*" + LOCALE + ")", "new MessageFormat(…, Locale.ROOT)");
        java("\\bCollator\\b|\\bBreakIterator\\b|\\bnew\\s+Scanner\\(", "code that knows no locale");
        java("\\bgetDisplay(?:Name|Country|Language)\\b", "code that knows no locale");
        java("\\bdefaultCharset\\b", "StandardCharsets.UTF_8");
        java("\"\\s*\\.\\s*getBytes\\(\\s*\\)|\\btoString\\(\\)\\s*\\.\\s*getBytes\\(\\s*\\)", "getBytes(UTF_8)");
        java("\\bnew\\s+(?:FileReader|FileWriter)\\(", "Files.newBufferedReader, Files.newBufferedWriter");
        java(
                "\\bnew\\s+(?:Input|Output)Stream(?:Reader|Writer)\\((?![^;]*(?:" + CHARSET + "))",
                "UTF_8 as the argument");
        java("\\bnew\\s+PrintStream\\((?![^;]*(?:" + CHARSET + "))", "UTF_8 as the argument");
        python("(?<![\\w.])open\\((?![^\\n]*(?:encoding=|\"[rwax]\\+?b\\+?\"|\"[rwax]b\\+\"))", "encoding=\"utf-8\"");
        python("\\b(?:read|write)_text\\((?![^\\n]*encoding=)", "encoding=\"utf-8\"");
        python("\\b(?:text|universal_newlines)=True(?![^\\n]*encoding=)", "encoding=\"utf-8\"");
        python("\\bimport locale\\b|\\bgetpreferredencoding\\b", "UTF-8");
        python(":n\\}|%n\\b", "a format that knows no locale");
    }

    private final Path root = Repository.root();

    private static void java(String code, String instead) {
        JAVA.put(Pattern.compile(code), instead);
    }

    private static void python(String code, String instead) {
        PYTHON.put(Pattern.compile(code), instead);
    }

    @Test
    void theSourcesInJavaKnowNoLocale() {
        List<Path> sources = Repository.files(root, ".java").stream()
                .filter(file -> file.toString().contains("/src/main/"))
                .toList();
        assertThat(sources).hasSizeGreaterThan(700);
        assertThat(uses(sources, JAVA))
                .as("uses of the default locale or charset")
                .isEmpty();
    }

    @Test
    void theSourcesInPythonKnowNoLocale() {
        List<Path> sources = Repository.files(root, ".py").stream()
                .filter(file ->
                        !file.toString().contains("/tests/") && !file.toString().contains("/src/test/"))
                .toList();
        assertThat(sources).hasSizeGreaterThan(30);
        assertThat(uses(sources, PYTHON)).as("uses of the locale's encoding").isEmpty();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "String.format(\"%d\", 1)",
                "String\n    .format(\n        \"%d\", 1)",
                "map(String::format)",
                "\"%d\".formatted(1)",
                "out.printf(FORMAT, 1)",
                "name.toLowerCase()",
                "map(String::toUpperCase)",
                "DateTimeFormatter.ofPattern(\"HH:mm\").withZone(ZoneOffset.UTC);",
                "DateTimeFormatter.ofLocalizedDate(style)",
                "NumberFormat.getInstance()",
                "MessageFormat.format(text, 1)",
                "new MessageFormat(text);",
                "new Scanner(in)",
                "\"text\".getBytes()",
                "Charset.defaultCharset()",
                "new InputStreamReader(process.getInputStream());",
                "new PrintStream(out, true);",
            })
    void seesWhatDependsOnTheLocale(String code) {
        assertThat(found("Some.java", code, JAVA)).hasSize(1);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "String.format(Locale.ROOT, \"%d\", 1)",
                "out.printf(\n    Locale.ROOT, \"%d\", 1)",
                "name.toLowerCase(java.util.Locale.ROOT)",
                "DateTimeFormatter.ofPattern(\"HH:mm\", Locale.ROOT).withZone(ZoneOffset.UTC);",
                "catch (NumberFormatException e) {",
                "new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8);",
            })
    void leavesAloneWhatDoesNot(String code) {
        assertThat(found("Some.java", code, JAVA)).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"with open(path) as file:", "open(path, \"w\")", "run(command, text=True)", "path.read_text()"})
    void seesWhatDependsOnTheEncoding(String code) {
        assertThat(found("some.py", code, PYTHON)).hasSize(1);
    }

    private List<String> uses(List<Path> sources, Map<Pattern, String> forbidden) {
        List<String> uses = new ArrayList<>();
        for (Path source : sources) {
            try {
                uses.addAll(found(root.relativize(source).toString(), Files.readString(source), forbidden));
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
        return uses;
    }

    private static List<String> found(String file, String text, Map<Pattern, String> forbidden) {
        List<String> found = new ArrayList<>();
        forbidden.forEach((code, instead) -> {
            Matcher use = code.matcher(text);
            while (use.find()) {
                long line = text.substring(0, use.start()).lines().count() + 1;
                found.add(file + ", line " + line + ": " + use.group().strip() + " depends on the locale; write "
                        + instead);
            }
        });
        return found;
    }
}
