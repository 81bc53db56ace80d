package io.waybill.cli.argument;

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
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(value = 30, unit = TimeUnit.SECONDS)
class CallArgumentsTest {

    private static Invocation read(String... words) throws ArgumentException {
        CallArguments arguments = new CallArguments(file -> {
            throw new ArgumentException("no file " + file);
        });
        for (String word : words) {
            arguments.add(word);
        }
        return arguments.toInvocation("some.name");
    }

    @Test
    void distinguishesNamedArgumentsFromPositionalOnes() throws ArgumentException {
        assertThat(read("1", "[2]", "alpha:=3"))
                .isEqualTo(new Invocation(
                        "some.name", List.of(Value.of(1), Value.list(Value.of(2))), Map.of("alpha", Value.of(3))));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "to be or not",
                "17",
                "-2.5",
                "true",
                "none",
                "nan",
                "a.npy",
                "'3'",
                "[1,2]",
                "{a:1}",
                "float32",
                "cpu",
                "=",
                ":=1",
                "a=@b",
                "",
                " "
            })
    void takesWhatFollowsTheEqualsSignForText(String text) throws ArgumentException {
        assertThat(read("text=" + text).named()).isEqualTo(Map.of("text", Value.of(text)));
    }

    @Test
    void readsValuesBehindTheirOwnMark() throws ArgumentException {
        assertThat(read("n:=3", "on:=true", "code:='17'", "list:=[1, 2.5]", "json:={\"a\": [null, \"\\u00e9\"]}")
                        .named())
                .containsExactly(
                        Map.entry("n", Value.of(3)),
                        Map.entry("on", Value.of(true)),
                        Map.entry("code", Value.of("17")),
                        Map.entry("list", Value.list(Value.of(1), Value.of(2.5))),
                        Map.entry(
                                "json",
                                new Value.Dict(Map.of(Value.of("a"), Value.list(Value.NONE, Value.of("\u00e9"))))));
        assertThatThrownBy(() -> read("mode:=mean"))
                .isInstanceOf(ArgumentException.class)
                .hasMessageContaining("found 'mean'");
    }

    @Test
    void readsFilesBehindAnAtSign() {
        for (String word : List.of("image=@a.bin", "image:=@a.bin", "@a.bin")) {
            assertThatThrownBy(() -> read(word))
                    .as(word)
                    .isInstanceOf(ArgumentException.class)
                    .hasMessage("no file a.bin");
        }
    }

    @Test
    void refusesFreeTextWithoutAName() {
        assertThatThrownBy(() -> read("mean"))
                .isInstanceOf(ArgumentException.class)
                .hasMessageContaining("found 'mean'");
    }

    @Test
    void knowsTheMarkForTextThatLooksLikeAValue() {
        assertThat(CallArguments.valueInText("n=3")).contains("n:=3");
        assertThat(CallArguments.valueInText("image=a.npy")).contains("image=@a.npy");
        assertThat(List.of("text=to be", "n:=3", "3", "text="))
                .allSatisfy(word -> assertThat(CallArguments.valueInText(word)).isEmpty());
    }

    @Test
    void refusesANameThatComesTwice() {
        assertThatThrownBy(() -> read("a=1", "a:=2"))
                .isInstanceOf(ArgumentException.class)
                .hasMessage("the argument a comes twice");
    }

    @Test
    void refusesPositionalArgumentsBehindNamedOnes() {
        assertThatThrownBy(() -> read("a=1", "2"))
                .isInstanceOf(ArgumentException.class)
                .hasMessageContaining("values without a name come first");
    }
}
