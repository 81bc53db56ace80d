package io.waybill.cli.conformance.format;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.waybill.api.MessageType;
import io.waybill.injection.InjectionSettings;
import io.waybill.testing.core.Seeds;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Timeout(value = 60, unit = TimeUnit.SECONDS)
class CaseFileTest {

    private static final String GOOD = """
            {"format": 1, "workers": {"a": "plain", "b": {"kind": "node", "id": 7, "timeout": "1.5ms",
             "inject": {"fail": ["RREF_USER_DELETE"], "drop": ["SCRIPT_CALL"], "times": 3, "delay": {"SCRIPT_CALL": "1.5s"},
                        "duplicate": ["RREF_CHILD_ACCEPT"], "reorder": ["RREF_FORK_REQUEST"]}}}, "cases": [
              {"name": "one", "tests": ["R.test_x"], "inputs": {"x": 1}, "workers": {"c": "plain"}, "steps": [
                {"on": "a", "do": "call", "to": "b", "op": "aten::add", "args": ["$x"], "within": "5s",
                 "expect": {"items": [{"value": 1}], "error": {"code": "REFUSED"}}},
                {"on": "c", "do": "kill"}]},
              {"name": "two", "skip": "not yet"}]}
            """;

    @TempDir
    private Path directory;

    private CaseFile read(String text) throws IOException, FormatException {
        Path file = directory.resolve("cases.json");
        Files.writeString(file, text);
        return CaseFile.read(file);
    }

    @Test
    void readsWhatAFileSays() throws Exception {
        CaseFile file = read(GOOD);

        WorkerPlan node = file.workers().get("b");
        assertThat(node.kind()).isEqualTo(WorkerPlan.Kind.NODE);
        assertThat(node.id()).isEqualTo(7);
        assertThat(node.timeout()).contains(Duration.ofNanos(1_500_000));
        assertThat(node.injection())
                .isEqualTo(InjectionSettings.NONE
                        .withFail(MessageType.RREF_USER_DELETE)
                        .withDrop(MessageType.SCRIPT_CALL)
                        .withTimes(3)
                        .withDelay(MessageType.SCRIPT_CALL, Duration.ofMillis(1500))
                        .withDuplicate(MessageType.RREF_CHILD_ACCEPT)
                        .withReorder(MessageType.RREF_FORK_REQUEST));
        assertThat(WorkerPlan.of("b", node.toDatum())).isEqualTo(node);
        assertThat(file.workers().get("a").injection()).isEqualTo(InjectionSettings.NONE);
        Case one = file.cases().get(0);
        assertThat(one.tests()).containsExactly("R.test_x");
        assertThat(one.workers()).containsOnlyKeys("c");
        assertThat(one.endsWorkers()).isTrue();
        assertThat(one.steps().get(0).within()).isEqualTo(Duration.ofSeconds(5));
        assertThat(file.cases().get(1).skip()).contains("not yet");
        assertThat(DatumReader.read(one.steps().get(0).datum().toJson()))
                .isEqualTo(one.steps().get(0).datum());
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "\"format\": 1        | \"format\": 2    | the field 'format' must be a whole number from 1 to 1, not 2",
                "\"format\": 1,       | ``               | needs a field 'format'",
                "\"plain\", \"b\"     | \"plan\", \"b\"  | the worker a is plain or node, not plan",
                "{\"a\": \"plain\"    | {\"a b\": \"plain\" | Worker name must match",
                "\"id\": 7            | \"id\": 32768    | must be a whole number from -1 to 32767, not 32768",
                "\"1.5ms\"            | \"1.5\"          | a time is 0, or a number with ns, us, ms, s or m",
                "[\"SCRIPT_CALL\"]  | [\"SCRIPT_RET\"] | no type of requests is called 'SCRIPT_RET'",
                "[\"RREF_CHILD_ACCEPT\"] | [\"SCRIPT_CALL\"] | may come twice or in another order, and not SCRIPT_CALL",
                "\"reorder\"          | \"order\"        | inject has no field 'order'; there are delay, drop, duplicate,",
                "\"do\": \"kill\"     | \"do\": \"kil\"  | case 'one': step 2: nothing is called 'kil'; a step does one of",
                "\"on\": \"c\"        | \"on\": \"d\"    | case 'one': step 2: no worker 'd'; there are [a, b, c]",
                "\"to\": \"b\"        | \"too\": \"b\"   | step 1: the step call has no field 'too'",
                "\"items\"            | \"item\"         | step 1: expect has no field 'item'",
                "\"value\": 1}]       | \"valu\": 1}]    | step 1: expect has no field 'valu'",
                "\"code\"             | \"cod\"          | step 1: error has no field 'cod'",
                "{\"c\": \"plain\"}   | {\"a\": \"plain\"} | a worker of the case has the name of one of the file",
                "\"name\": \"two\"    | \"name\": \"one\" | two cases are called 'one'",
                "\"name\": \"two\",   | ``               | case 2: a case needs a field 'name'",
                "\"skip\"             | \"name\"         | no JSON at line 8",
                "\"not yet\"}]}       | \"not yet\"}]    | no JSON at line",
                "\"not yet\"}]}       | \"not yet\"}]} 7 | expected the end",
            })
    void namesThePlaceAndWhatWasExpected(String good, String bad, String problem) {
        String wrong = GOOD.replace(good.strip(), bad == null ? "" : bad.strip());
        assertThat(wrong).isNotEqualTo(GOOD);
        assertThatExceptionOfType(FormatException.class)
                .isThrownBy(() -> read(wrong))
                .withMessageStartingWith(directory.resolve("cases.json").toString())
                .withMessageContaining(problem.strip());
    }

    @Test
    void refusesWhatIsTooDeepTooLargeOrNoFile() throws IOException {
        assertThatExceptionOfType(FormatException.class)
                .isThrownBy(() -> read("[".repeat(1000)))
                .withMessageContaining("depth");
        Path large = directory.resolve("large.json");
        Files.write(large, new byte[DatumReader.MAX_BYTES + 1]);
        assertThatExceptionOfType(FormatException.class)
                .isThrownBy(() -> CaseFile.read(large))
                .withMessageContaining("at most");
        assertThatExceptionOfType(FormatException.class)
                .isThrownBy(() -> CaseFile.read(directory.resolve("none.json")))
                .withMessageContaining("no file");
        assertThatExceptionOfType(FormatException.class)
                .isThrownBy(() -> CaseFile.read(directory))
                .withMessageContaining("regular file");
        assertThatExceptionOfType(FormatException.class)
                .isThrownBy(() -> read("{\"format\": 99999999999999999999}"))
                .withMessageContaining("no JSON");
    }

    @Test
    void neverFailsInAnotherWay() throws IOException {
        long seed = Seeds.one(7);
        Random random = new Random(seed);
        for (int i = 0; i < 2_000; i++) {
            StringBuilder text = new StringBuilder(GOOD);
            text.setCharAt(random.nextInt(text.length()), (char) (' ' + random.nextInt(95)));
            try {
                assertThat(read(text.toString())).isNotNull();
            } catch (FormatException e) {
                assertThat(e.getMessage()).as("seed %d, round %d", seed, i).isNotBlank();
            }
        }
    }
}
