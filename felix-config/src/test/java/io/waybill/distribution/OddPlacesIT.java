package io.waybill.distribution;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.distribution.Command.Result;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Starts the distribution under locales, paths, users and options that are not its developers'. The shell makes what is not ASCII: the
 * test's own JVM may run in a locale that has no names for it.
 */
@Timeout(600)
class OddPlacesIT {

    private static final Path DISTRIBUTION = Path.of(System.getProperty("waybill.test.distribution"));
    /** In a shell: ü and two more letters as UTF-8, and a letter that is no UTF-8. */
    private static final String LETTERS = "$'\\xc3\\xbc\\xe6\\x97\\xa5'";

    private static final String LATIN = "$'\\xfc'";
    private static final String LETTERS_SHOWN = "ü日";

    @TempDir
    Path directory;

    private final Map<String, String> environment = new HashMap<>();

    @BeforeEach
    void startFromAnEmptyEnvironment() {
        environment.put("PATH", "/usr/bin:/bin");
        environment.put("HOME", directory.toString());
        environment.put("WAYBILL_HOME", directory.resolve("home").toString());
        environment.put(
                "WAYBILL_JAVA",
                Path.of(System.getProperty("java.home"), "bin", "java").toString());
        environment.put("W", DISTRIBUTION.resolve("bin/waybill").toString());
    }

    private Result shell(String script) throws IOException, InterruptedException {
        return Command.run(directory, environment, "bash", "-c", script);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "C", "POSIX", "C.UTF-8", "tr_TR", "ar_EG", "fa_IR", "bn_BD.UTF-8"})
    void readsArgumentsAndPathsAsUtf8InEveryLocale(String locale) throws Exception {
        if (!locale.isEmpty()) {
            environment.put("LC_ALL", locale);
        }
        Result argument = shell("$W workers --unknown-" + LETTERS);
        assertThat(argument.err()).contains("--unknown-" + LETTERS_SHOWN).doesNotContain("\tat ");
        Result option = shell("$W workers --home $PWD/" + LETTERS);
        assertThat(option.exitCode()).isEqualTo(1);
        assertThat(option.err()).contains("no home at " + directory + "/" + LETTERS_SHOWN + ":");
        Result variable =
                shell("mkdir " + LETTERS + " && cd " + LETTERS + " && TMPDIR=$PWD WAYBILL_HOME=$PWD/h $W workers");
        assertThat(variable.exitCode()).isEqualTo(1);
        assertThat(variable.err()).contains("no home at " + directory + "/" + LETTERS_SHOWN + "/h:");
    }

    @Test
    void refusesWhatIsNotUtf8() throws Exception {
        Result argument = shell("$W call --to ps0 text.count text=" + LATIN);
        assertThat(argument.exitCode()).isEqualTo(2);
        assertThat(argument.err())
                .startsWith("waybill: argument 5: expected UTF-8, found 'text=")
                .hasLineCount(1);
        Result variable = shell("WAYBILL_HOME=$PWD/" + LATIN + " $W workers");
        assertThat(variable.exitCode()).isEqualTo(2);
        assertThat(variable.err())
                .startsWith("waybill: WAYBILL_HOME: expected UTF-8, found '")
                .hasLineCount(1);
    }

    @Test
    void saysWhatToSetWithoutAHome() throws Exception {
        environment.remove("HOME");
        environment.remove("WAYBILL_HOME");
        environment.put("WAYBILL_JAVA_OPTS", "-Duser.home=?"); // as of a user that is not in passwd
        for (String command : new String[] {"workers", "node --name a --shipped none", "journal list", "doctor"}) {
            Result result = shell("$W " + command);
            assertThat(result.exitCode()).as(command).isEqualTo(1);
            assertThat(result.err()).as(command).contains("no home: ").endsWith("; set WAYBILL_HOME or HOME\n");
        }
        assertThat(directory.resolve("?")).doesNotExist();
        assertThat(shell("$W --version").exitCode()).isZero();
    }

    @ParameterizedTest
    @ValueSource(strings = {"a:b", "a*b", "a%20b", "with blank", "#", "?"})
    void runsBelowEveryName(String name) throws Exception {
        Path place = Files.createDirectory(directory.resolve(name));
        runsBelow("'" + place + "'");
    }

    @Test
    void runsBelowANameThatIsNotAscii() throws Exception {
        environment.put("LC_ALL", "C");
        runsBelow("$PWD/" + LETTERS);
    }

    /** A node with bundles, with its distribution and its home there, is called. */
    private void runsBelow(String place) throws Exception {
        Result result = shell(
                "P=" + place + "; mkdir -p \"$P\"; cp -a " + DISTRIBUTION + " \"$P/d\"; rm -rf \"$P/d/lib/cds\";"
                        + " export WAYBILL_HOME=\"$P/home\"; W=\"$P/d/bin/waybill\";"
                        + " \"$W\" node --name ps0 --shipped io.waybill.script-ops --waiting low-cpu > out 2> err < /dev/null & N=$!;"
                        + " for i in $(seq 900); do grep -q ^ready out && break; kill -0 $N || break; sleep .1; done;"
                        + " \"$W\" bundle install --node ps0 \"$P/d/examples/word-count-1.0.0.jar\" &&"
                        + " \"$W\" call --to ps0 text.count text='to be or not'; echo \"code $?\"; kill $N; wait $N; cat err >&2");
        assertThat(result.out()).as(result.err()).contains("'words': 4").contains("code 0");
        assertThat(result.err()).doesNotContain("\tat ");
    }

    @ParameterizedTest
    @CsvSource({
        "WAYBILL_JAVA_OPTS, -XX:+UseParallelGC, UseParallelGC",
        "JAVA_TOOL_OPTIONS, -XX:+UseG1GC, UseG1GC",
        "JDK_JAVA_OPTIONS, -XX:+UseParallelGC, UseParallelGC",
        "_JAVA_OPTIONS, -XX:+UseG1GC, UseG1GC",
        "WAYBILL_JAVA_OPTS, -XX:+UseSerialGC, UseSerialGC",
        "NONE, '', UseSerialGC"
    })
    void takesTheOperatorsCollector(String variable, String option, String collector) throws Exception {
        environment.put(variable, option);
        for (String command : new String[] {"node", "up", "bench", "workers"}) {
            environment.merge("WAYBILL_JAVA_OPTS", "-XX:+PrintFlagsFinal", (given, more) -> given + "\n" + more);
            Result result = shell("$W " + command + " --help");
            assertThat(result.output())
                    .as("collector of waybill %s", command)
                    .containsPattern(" " + collector + " += true ")
                    .contains("Usage:");
        }
    }
}
