package io.waybill.conformance.cases;

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

    private CaseFile read(String text) throws IOException {
        Path file = directory.resolve("cases.json");
        Files.writeString(file, text);
        return CaseFile.read(file);
    }

    @Test
    void readsWhatAFileSays() throws Exception {
        CaseFile file = read(GOOD);

        WorkerSpec node = WorkerSpec.of("b", file.workers().get("b"));
        assertThat(node.kind()).isEqualTo(WorkerSpec.Kind.NODE);
        assertThat(node.id()).isEqualTo(7);
        assertThat(node.timeout()).isEqualTo(Duration.ofNanos(1_500_000));
        assertThat(node.injection())
                .isEqualTo(InjectionSettings.NONE
                        .withFail(MessageType.RREF_USER_DELETE)
                        .withDrop(MessageType.SCRIPT_CALL)
                        .withTimes(3)
                        .withDelay(MessageType.SCRIPT_CALL, Duration.ofMillis(1500))
                        .withDuplicate(MessageType.RREF_CHILD_ACCEPT)
                        .withReorder(MessageType.RREF_FORK_REQUEST));
        WorkerSpec plain = WorkerSpec.of("a", file.workers().get("a"));
        assertThat(plain.kind()).isEqualTo(WorkerSpec.Kind.PLAIN);
        assertThat(plain.injection()).isEqualTo(InjectionSettings.NONE);
        ConformanceCase one = file.cases().get(0);
        assertThat(one.tests()).containsExactly("R.test_x");
        assertThat(one.workers()).containsOnlyKeys("c");
        assertThat(one.endsWorkers()).isTrue();
        Step step = Step.of(one.steps().get(0));
        assertThat(step.within()).isEqualTo(Duration.ofSeconds(5));
        assertThat(step.times()).isEqualTo(1);
        assertThat(step.expect().items()[0].value().intValue()).isEqualTo(1);
        assertThat(file.cases().get(1).skip()).isEqualTo("not yet");
        assertThat(file.cases().get(1).steps()).isEmpty();
    }

    @Test
    void distinguishesNullFromNothing() {
        assertThat(CaseJson.read("{\"value\": null}", Expected.class).value().isNull())
                .isTrue();
        assertThat(CaseJson.read("{\"items\": []}", Expected.class).items()).isEmpty();
        Expected nothing = CaseJson.read("{}", Expected.class);
        assertThat(nothing.value()).isNull();
        assertThat(nothing.items()).isNull();
        assertThat(nothing.shares()).isEmpty();
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "\"format\": 1        | \"format\": 2    | format must be 1, not 2",
                "\"format\": 1,       | ``               | creator property 'format'",
                "\"plain\", \"b\"     | \"plan\", \"b\"  | worker a: kind: Cannot deserialize value of type",
                "{\"a\": \"plain\"    | {\"a b\": \"plain\" | Worker name must match",
                "\"id\": 7            | \"id\": 32768    | must be a whole number from -1 to 32767, not 32768",
                "\"1.5ms\"            | \"1.5\"          | a time is 0, or a number with ns, us, ms, s or m",
                "[\"SCRIPT_CALL\"]  | [\"SCRIPT_RET\"] | no type of requests is called 'SCRIPT_RET'",
                "[\"RREF_CHILD_ACCEPT\"] | [\"SCRIPT_CALL\"] | may come twice or in another order, and not SCRIPT_CALL",
                "\"reorder\"          | \"order\"        | worker b: inject.order: unknown field 'order', expected one of [delay, drop, duplicate,",
                "\"do\": \"kill\"     | \"do\": \"kil\"  | case 'one': step 2: do: Cannot deserialize value of type",
                "\"on\": \"c\"        | \"on\": \"d\"    | case 'one': step 2: no worker 'd', expected one of [a, b, c]",
                "\"to\": \"b\"        | \"too\": \"b\"   | step 1: too: unknown field 'too'",
                "\"items\"            | \"item\"         | step 1: expect.item: unknown field 'item'",
                "\"value\": 1}]       | \"valu\": 1}]    | step 1: expect.items[0].valu: unknown field 'valu'",
                "\"code\"             | \"cod\"          | step 1: expect.error.cod: unknown field 'cod'",
                "\"to\": \"b\",       | ``               | step 1: call needs a field 'to'",
                "\"within\": \"5s\"   | \"gate\": \"g\"    | step 1: unknown field 'gate' of call, expected one of [args,",
                "\"within\": \"5s\"   | \"times\": \"2\"   | step 1: times: Cannot",
                "{\"c\": \"plain\"}   | {\"a\": \"plain\"} | the file has a worker 'a', too",
                "\"name\": \"two\"    | \"name\": \"one\" | two cases are called 'one'",
                "\"name\": \"two\",   | ``               | cases[1].name: Missing required creator property 'name'",
                "\"skip\"             | \"name\"         | Duplicate field 'name'",
                "\"not yet\"}]}       | \"not yet\"}]    | line ",
                "\"not yet\"}]}       | \"not yet\"}]} 7 | Trailing token",
            })
    void namesThePlaceAndWhatWasExpected(String good, String bad, String problem) {
        String wrong = GOOD.replace(good.strip(), bad == null ? "" : bad.strip());
        assertThat(wrong).isNotEqualTo(GOOD);
        assertThatExceptionOfType(CaseFormatException.class)
                .isThrownBy(() -> read(wrong))
                .withMessageStartingWith(directory.resolve("cases.json").toString())
                .withMessageContaining(problem.strip());
    }

    @Test
    void refusesWhatIsTooDeepTooLargeOrNoFile() throws IOException {
        assertThatExceptionOfType(CaseFormatException.class)
                .isThrownBy(() -> read("{\"scripts\": {\"a\": " + "[".repeat(1000)))
                .withMessageContaining("depth");
        Path large = directory.resolve("large.json");
        Files.write(large, new byte[CaseJson.MAX_BYTES + 1]);
        assertThatExceptionOfType(CaseFormatException.class)
                .isThrownBy(() -> CaseFile.read(large))
                .withMessageContaining("at most");
        assertThatExceptionOfType(CaseFormatException.class)
                .isThrownBy(() -> CaseFile.read(directory.resolve("none.json")))
                .withMessageContaining("no file");
        assertThatExceptionOfType(CaseFormatException.class)
                .isThrownBy(() -> CaseFile.read(directory))
                .withMessageContaining("regular file");
        assertThatExceptionOfType(CaseFormatException.class)
                .isThrownBy(() -> read("{\"format\": 99999999999999999999}"))
                .withMessageContaining("format: Numeric value");
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
            } catch (CaseFormatException e) {
                assertThat(e.getMessage()).as("seed %d, round %d", seed, i).isNotBlank();
            }
        }
    }
}
