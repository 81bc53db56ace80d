package io.waybill.dispatch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.waybill.api.MessageType;
import org.junit.jupiter.api.Test;

class HandlerKeyTest {

    @Test
    void takesANameWithADotForAnOperation() {
        assertThat(HandlerKey.parse("text.count")).isEqualTo(new HandlerKey.OfOperation("text.count"));
    }

    @Test
    void takesATypesNameOrCodeForAType() {
        assertThat(HandlerKey.parse("SCRIPT_CALL")).isEqualTo(new HandlerKey.OfType(MessageType.SCRIPT_CALL));
        assertThat(HandlerKey.parse("0x142")).isEqualTo(new HandlerKey.OfType(MessageType.userRequest(0x42)));
    }

    @Test
    void takesThePrefixForAControlOperation() {
        assertThat(HandlerKey.parse("control:bundle.list")).isEqualTo(new HandlerKey.OfControl("bundle.list"));
    }

    @Test
    void takesThePrefixForAFunction() {
        assertThat(HandlerKey.parse("function:math.scale")).isEqualTo(new HandlerKey.OfFunction("math.scale"));
        assertThat(HandlerKey.parse("function:scale")).isEqualTo(new HandlerKey.OfFunction("scale"));
    }

    @Test
    void distinguishesOperatorsFromFunctionsByTheirNames() {
        assertThat(HandlerKey.isOperator("aten::add.Tensor")).isTrue();
        assertThat(HandlerKey.isOperator("torch.ops.aten.add")).isTrue();
        assertThat(HandlerKey.isOperator("torch.scale")).isFalse();
        assertThat(HandlerKey.isOperator("aten:add")).isFalse();
        assertThatIllegalArgumentException()
                .isThrownBy(() -> HandlerKey.parse("function:aten::add"))
                .withMessageContaining("aten::add");
    }

    @Test
    void readsItsOwnText() {
        for (String text : new String[] {
            "text.count",
            "SCRIPT_CALL",
            "control:bundle.list",
            "function:math.scale",
            "py.*",
            "py.torch.*",
            "*",
            "type:*"
        }) {
            assertThat(HandlerKey.parse(text).text()).isEqualTo(text);
        }
    }

    @Test
    void takesAStarForAPattern() {
        assertThat(HandlerKey.parse("py.*")).isEqualTo(new HandlerKey.OfOperationPrefix("py."));
        assertThat(HandlerKey.parse("*")).isEqualTo(new HandlerKey.OfAnyOperation());
        assertThat(HandlerKey.parse("type:*")).isEqualTo(new HandlerKey.OfAnyType());
    }

    @Test
    void ordersThePatternsOfAKeyByHowSpecificTheyAre() {
        assertThat(HandlerKey.patternsFor(HandlerKey.parse("py.torch.add")))
                .extracting(HandlerKey::text)
                .containsExactly("py.torch.*", "py.*", "*");
        assertThat(HandlerKey.patternsFor(HandlerKey.parse("0x142")))
                .extracting(HandlerKey::text)
                .containsExactly("type:*");
        assertThat(HandlerKey.patternsFor(HandlerKey.parse("control:bundle.list")))
                .isEmpty();
        assertThat(HandlerKey.patternsFor(new HandlerKey.OfType(MessageType.NAMED_CALL)))
                .isEmpty();
        assertThat(HandlerKey.patternsFor(new HandlerKey.OfType(MessageType.of(0x1f1))))
                .isEmpty();
    }

    @Test
    void refusesAStarAnywhereElse() {
        for (String text : new String[] {"py*", "*.py", "py.*.x", "py.*x", ".*", "**", "py.**", "a*.*", "type:py.*x"}) {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> HandlerKey.parse(text))
                    .withMessageContaining("\"" + text + "\"");
        }
    }

    @Test
    void refusesWhatIsNeither() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> HandlerKey.parse("SCRIPT_CAL"))
                .withMessageContaining("SCRIPT_CAL");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> HandlerKey.parse("SCRIPT_RET"))
                .withMessageContaining("only requests");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> HandlerKey.parse(""))
                .withMessageContaining("\"\"");
        assertThatIllegalArgumentException().isThrownBy(() -> HandlerKey.parse("control: "));
        assertThatIllegalArgumentException().isThrownBy(() -> HandlerKey.parse("a." + "b".repeat(255)));
    }
}
