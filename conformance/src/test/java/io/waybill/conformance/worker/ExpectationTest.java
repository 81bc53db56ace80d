package io.waybill.conformance.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import com.fasterxml.jackson.databind.JsonNode;
import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.ErrorKind;
import io.waybill.api.Value;
import io.waybill.api.tensor.Tensor;
import io.waybill.cli.show.ValueText;
import io.waybill.conformance.cases.CaseFormatException;
import io.waybill.conformance.cases.CaseJson;
import io.waybill.conformance.cases.Expected;
import io.waybill.host.Host;
import io.waybill.tensor.HostMemory;
import io.waybill.tensor.memory.NativeMemory;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Values made of JSON, and compared with what JSON expects. */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
class ExpectationTest {

    private final HostMemory memory =
            new HostMemory(new NativeMemory(Host.real().calls()));
    private final ValueMaker maker = new ValueMaker(memory, Map.of(), value -> value);

    @AfterEach
    void leaveNothing() {
        maker.close();
        assertThat(memory.liveBytes()).isZero();
    }

    private Value value(String json) {
        return maker.value(json(json));
    }

    private static JsonNode json(String json) {
        return CaseJson.read(json, JsonNode.class);
    }

    private Optional<String> wrong(StepOutcome outcome, String expected) {
        return Expectation.check(CaseJson.read(expected, Expected.class), outcome, maker);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "{\"data\": [[1, 2], [3, 4]]} | {\"value\": {\"arange\": 5, \"shape\": [5]}} | expected float32[5]",
                "{\"data\": [1, 2]} | {\"value\": {\"data\": [1, 2], \"dtype\": \"int32\"}} | expected int32[2]",
                "{\"data\": [1, 2]} | {\"value\": {\"data\": [1, 3]}} | expected 3.0 for element 1 in row-major order, found 2.0",
                "{\"data\": [\"nan\"]} | {\"value\": {\"data\": [0]}} | expected 0.0 for element 0",
                "{\"data\": [1.1]} | {\"value\": {\"data\": [1]}, \"tolerance\": {\"absolute\": 0.01}} | expected 1.0",
                "{\"data\": [1]} | {\"strides\": [2]} | expected strides [2], found [1]",
                "{\"data\": [1]} | {\"offset\": 1} | expected offset 1, found 0",
                "{\"data\": [1]} | {\"storage_elements\": 2} | expected storage_elements 2, found 1",
                "{\"data\": [1]} | {\"requires_grad\": true} | expected requires_grad true, found false",
                "{\"data\": [1]} | {\"dtype\": \"int8\", \"shape\": [2]} | expected dtype int8, found float32; expected shape [2], found [1]",
                "{\"data\": [1]} | {\"dense\": {\"data\": [1]}} | expected a sparse tensor with dense, found none",
                "1 | {\"dtype\": \"int8\"} | expected a tensor with dtype, found none",
                "1 | {\"value\": 2} | expected Int 2, found Int 1",
                "1 | {\"value\": 1.0} | expected Float 1.0, found Int 1",
                "1 | {\"type\": \"text\"} | expected type text, found int",
                "1 | {\"error\": {}} | expected an error, found Int 1",
                "[1, 2] | {\"value\": [1]} | expected 1 elements, found 2",
                "[1, 2] | {\"value\": [1, 3]} | the value[1]: expected Int 3, found Int 2",
                "[1, 2] | {\"value\": {\"tuple\": [1, 2]}} | expected Tuple (1, 2), found Items [1, 2]",
                "{\"dict\": {\"a\": 1}} | {\"value\": {\"dict\": {\"a\": 2}}} | the value['a']: expected Int 2",
                "[1, 2] | {\"items\": [{\"value\": 1}]} | expected items 1, found 2",
                "[1, 2] | {\"items\": [{}, {\"value\": 1}]} | item 1: the value: expected Int 1, found Int 2",
                "[{\"ones\": [1]}, {\"ones\": [1]}] | {\"shares\": [[0, 1]]} | expected one storage under items [0, 1]",
            })
    void saysWhatDiffers(String found, String expected, String difference) {
        assertThat(wrong(new StepOutcome.Result(value(found)), expected))
                .hasValueSatisfying(text -> assertThat(text).contains(difference));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "{\"data\": [1.005]} | {\"value\": {\"data\": [1]}, \"tolerance\": {\"relative\": 0.01}}",
                "{\"data\": [\"nan\", -0.0]} | {\"value\": {\"data\": [\"nan\", 0]}}",
                "{\"eye\": 2} | {\"value\": {\"data\": [1, 0, 0, 1], \"shape\": [2, 2]}, \"contiguous\": true}",
                "{\"zeros\": [0, 3]} | {\"value\": {\"ones\": [0, 3]}, \"type\": \"tensor\"}",
                "[{\"data\": 1}, \"x\"] | {\"items\": [{\"shape\": []}, {\"type\": \"text\"}], \"type\": \"list\"}",
                "{\"sparse\": {\"indices\": [[0, 0]], \"values\": [1, 2], \"shape\": [2]}} | {\"dense\": {\"data\": [3, 0]}, \"nnz\": 2}",
                "{\"sparse\": {\"indices\": [[1]], \"values\": [[5, 6]], \"shape\": [2, 2]}} | {\"dense\": {\"data\": [[0, 0], [5, 6]]}}",
            })
    void takesWhatIsAsExpected(String found, String expected) {
        assertThat(wrong(new StepOutcome.Result(value(found)), expected)).isEmpty();
    }

    @Test
    void seesTwoViewsOfOneStorage() {
        Map<String, JsonNode> inputs =
                Map.of("x", json("{\"arange\": 4}"), "y", json("{\"view\": \"$x\", \"shape\": [2]}"));
        try (ValueMaker named = new ValueMaker(memory, inputs, value -> value)) {
            Value both = named.value(json("[\"$x\", \"$y\"]"));

            assertThat(wrong(new StepOutcome.Result(both), "{\"shares\": [[0, 1]]}"))
                    .isEmpty();
        }
    }

    @Test
    void comparesErrorsByKindCodeAndText() {
        StepOutcome timeout = StepOutcome.Failure.of(new CallException(
                ErrorKind.TIMEOUT, ErrorCode.TIMED_OUT, 1, "RPCErr:1:RPC ran for more than set timeout (100 ms)"));

        assertThat(
                        wrong(
                                timeout,
                                "{\"error\": {\"kind\": \"TIMEOUT\", \"code\": \"TIMED_OUT\", \"matches\": \"\\\\(\\\\d+ ms\\\\)$\"}}"))
                .isEmpty();
        assertThat(wrong(timeout, "{\"error\": {\"code\": \"REFUSED\"}}").orElseThrow())
                .contains("of the code 'REFUSED', found 'TIMED_OUT'");
        assertThat(wrong(timeout, "{\"error\": {\"text\": \"RPC\"}}")).isPresent();
        assertThat(wrong(timeout, "{\"error\": {\"contains\": \"set timeout (1 ms)\"}}"))
                .isPresent();
        assertThat(wrong(timeout, "{\"value\": 1}").orElseThrow()).contains("expected no error, found CallException");
        assertThat(Expectation.check(null, timeout, maker)).isPresent();
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "no prefix                            | {}                    | true",
                "no prefix                            | {\"node\": 1}         | false",
                "Error on Node 1: boom                | {\"node\": 1}         | true",
                "Error on Node 1: boom                | {\"node\": [1]}       | true",
                "Error on Node 1: boom                | {\"node\": 2}         | false",
                "Error on Node 1: boom                | {}                    | false",
                "Error on Node 1: boom                | {\"contains\": \"boom\"} | false",
                "Error on Node 1: Error on Node 2: no | {\"node\": [1, 2]}    | true",
                "Error on Node 1: Error on Node 2: no | {\"node\": 1}         | false",
                "Error on Node 1: Error on Node 2: no | {\"node\": [2, 1]}    | false",
                "it said Error on Node 1: boom        | {}                    | true",
            })
    void demandsThatAnErrorNamesItsNodesOrNone(String text, String error, boolean isExpected) {
        StepOutcome failure =
                StepOutcome.Failure.of(new CallException(ErrorKind.UNKNOWN_ERROR, ErrorCode.REFUSED, 1, text));

        assertThat(wrong(failure, "{\"error\": " + error + "}").isEmpty()).isEqualTo(isExpected);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "{\"data\": [[1], [2, 3]]} | expected 1 values at depth 1, found 2",
                "{\"data\": [1, [2]]} | expected an element at depth 1",
                "{\"data\": [1, 2], \"shape\": [3]} | the shape is [3]",
                "{\"data\": [256], \"dtype\": \"uint8\"} | from 0 to 255",
                "{\"data\": [0.1], \"dtype\": \"float16\"} | no float16 is exactly 0.1",
                "{\"data\": [0.1], \"dtype\": \"bfloat16\"} | no bfloat16 is exactly 0.1",
                "{\"data\": [1], \"dtype\": \"float1\"} | no element type is called float1",
                "{\"data\": [\"x\"]} | expected a number for an element, found \"x\"",
                "{\"ones\": [-1]} | must be 0 or more",
                "{\"ones\": [99999999, 99999999]} | at most",
                "{\"ones\": [1], \"shap\": [1]} | unknown field 'shap'",
                "{\"view\": 1, \"shape\": [1]} | a view is one of a tensor",
                "{\"sparse\": {\"indices\": [[0]], \"values\": [1, 2], \"shape\": [2]}} | values have a size for the elements",
                "{\"sparse\": {\"indices\": [[0]], \"values\": [1]}} | creator property 'shape'",
                "\"$none\" | nothing is called '$none'",
                "{\"bytes\": \"0\"} | a value of [bytes]: string length",
                "{\"complex\": [1]} | has two parts",
                "{\"dict\": [[1]]} | [key, value]",
                "{\"lisp\": 1} | no value is called [lisp]",
                "{\"tuple\": [], \"dict\": {}} | no value is called [tuple, dict]",
            })
    void refusesWhatIsNoValue(String json, String problem) {
        assertThatExceptionOfType(CaseFormatException.class)
                .isThrownBy(() -> value(json))
                .withMessageContaining(problem);
    }

    @ParameterizedTest
    @CsvSource({
        "1, 1.0",
        "-0.5, -0.5",
        "65504, 65504.0",
        "5.9604644775390625e-8, 5.9604645E-8",
        "0.00006103515625, 6.1035156E-5"
    })
    void writesHalvesAsTheyRead(String element, String shown) {
        Tensor half = ((Value.OfTensor) value("{\"data\": " + element + ", \"dtype\": \"float16\"}")).value();

        assertThat(ValueText.tensor(half)).isEqualTo("float16[] " + shown);
    }
}
