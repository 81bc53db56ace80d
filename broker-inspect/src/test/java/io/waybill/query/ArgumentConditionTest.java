package io.waybill.query;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.Invocation;
import io.waybill.api.Value;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Timeout(value = 60, unit = TimeUnit.SECONDS)
class ArgumentConditionTest {

    private static final Invocation CALL = new Invocation(
            "pay.charge",
            List.of(Value.of(7), new Value.Items(List.of(Value.of("a"), Value.of("b")))),
            Map.of(
                    "amount",
                    Value.of(1500),
                    "rate",
                    new Value.Float(0.5),
                    "none",
                    Value.NONE,
                    "dry",
                    new Value.Bool(true),
                    "text",
                    Value.of("17"),
                    "nan",
                    new Value.Float(Double.NaN),
                    "a.b",
                    Value.of("dotted"),
                    "order",
                    new Value.Dict(Map.of(
                            Value.of("customer"), Value.of("acme"),
                            Value.of(3), Value.of("three")))));

    @ParameterizedTest
    @CsvSource({
        "amount,1500",
        "amount,1500.0",
        "amount,1.5e3",
        "rate,0.5",
        "rate,.50",
        "none,none",
        "dry,true",
        "dry,True",
        "text,17",
        "nan,NaN",
        "0,7",
        "1.1,b",
        "a.b,dotted",
        "order.customer,acme",
        "order.3,three"
    })
    void isMet(String path, String value) {
        assertThat(ArgumentCondition.written(path, value).isMetBy(CALL)).isTrue();
    }

    @ParameterizedTest
    @CsvSource({
        "amount,150",
        "amount,x",
        "rate,0.51",
        "none,null",
        "dry,1",
        "text,17.0",
        "nan,1",
        "2,7",
        "-1,7",
        "1.2,b",
        "order,acme",
        "order.customer.x,acme",
        "amount.0,1500",
        "'.',7",
        "missing,''"
    })
    void isNotMet(String path, String value) {
        assertThat(ArgumentCondition.written(path, value).isMetBy(CALL)).isFalse();
    }

    @Test
    void comparesValuesWithTheirKind() {
        assertThat(ArgumentCondition.equalTo("amount", Value.of(1500)).isMetBy(CALL))
                .isTrue();
        assertThat(ArgumentCondition.equalTo("amount", Value.of(1500.0)).isMetBy(CALL))
                .isTrue();
        assertThat(ArgumentCondition.equalTo("text", Value.of("17")).isMetBy(CALL))
                .isTrue();
        assertThat(ArgumentCondition.equalTo("nan", Value.of(Double.NaN)).isMetBy(CALL))
                .isTrue();
        assertThat(ArgumentCondition.equalTo("text", Value.of(17)).isMetBy(CALL))
                .isFalse();
        assertThat(ArgumentCondition.equalTo("amount", Value.of("1500")).isMetBy(CALL))
                .isFalse();
        assertThat(ArgumentCondition.equalTo("dry", Value.of("true")).isMetBy(CALL))
                .isFalse();
    }

    @Test
    void needsAName() {
        assertThatThrownBy(() -> ArgumentCondition.written(" ", "x")).isInstanceOf(IllegalArgumentException.class);
    }

    @ParameterizedTest
    @CsvSource({"0,5", "1.0,a", "by,4", "args.0,5", "kwargs.by,4"})
    void isMetByWhatIsShownOfThePickledArgumentsOfPython(String path, String value) {
        Value args =
                new Value.Items(List.of(Value.of(5), new Value.Tuple(List.of(Value.of("a"))), Value.of("<Point>")));
        Value kwargs = new Value.Dict(Map.of(Value.of("by"), Value.of(4)));
        Map<String, Value> fields = Map.of("args", args, "kwargs", kwargs, "pickle", Value.of("pickled"));
        ArgumentCondition condition = ArgumentCondition.written(path, value);

        assertThat(condition.isMetBy(new Invocation("prices:total", List.of(), fields)))
                .isTrue();
        assertThat(condition.isMetBy(new Invocation("prices:total", List.of(), Map.of("pickle", Value.of("x")))))
                .as("a call without what is shown")
                .isFalse();
        assertThat(ArgumentCondition.written(path, value + "1")
                        .isMetBy(new Invocation("prices:total", List.of(), fields)))
                .isFalse();
    }
}
