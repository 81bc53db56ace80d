package io.waybill.cli.argument;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.Invocation;
import io.waybill.api.Value;
import io.waybill.cli.argument.CallArguments.Bare;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(value = 30, unit = TimeUnit.SECONDS)
class CallArgumentsTest {

    private static Invocation read(Bare bare, String... words) throws ArgumentException {
        CallArguments arguments = new CallArguments(
                file -> {
                    throw new ArgumentException("no file " + file);
                },
                bare);
        for (String word : words) {
            arguments.add(word);
        }
        return arguments.toInvocation("some.name");
    }

    @Test
    void distinguishesNamedArgumentsFromPositionalOnes() throws ArgumentException {
        assertThat(read(Bare.REFUSED, "1", "[2]", "alpha=3"))
                .isEqualTo(new Invocation(
                        "some.name", List.of(Value.of(1), Value.list(Value.of(2))), Map.of("alpha", Value.of(3))));
    }

    @Test
    void takesFreeTextForOperationsByName() throws ArgumentException {
        assertThat(read(Bare.TEXT, "text=to be or not", "n=3", "quoted='3'", "empty=")
                        .named())
                .containsExactly(
                        Map.entry("text", Value.of("to be or not")),
                        Map.entry("n", Value.of(3)),
                        Map.entry("quoted", Value.of("3")),
                        Map.entry("empty", Value.of("")));
    }

    @Test
    void doesNotTakeAMissingFileForText() {
        assertThatThrownBy(() -> read(Bare.TEXT, "image=a.npy"))
                .isInstanceOf(ArgumentException.class)
                .hasMessage("no file a.npy");
    }

    @Test
    void refusesFreeTextForOperators() {
        assertThatThrownBy(() -> read(Bare.REFUSED, "mode=mean"))
                .isInstanceOf(ArgumentException.class)
                .hasMessageContaining("found 'mean'");
    }

    @Test
    void refusesANameThatComesTwice() {
        assertThatThrownBy(() -> read(Bare.TEXT, "a=1", "a=2"))
                .isInstanceOf(ArgumentException.class)
                .hasMessage("the argument a comes twice");
    }

    @Test
    void refusesPositionalArgumentsBehindNamedOnes() {
        assertThatThrownBy(() -> read(Bare.REFUSED, "a=1", "2"))
                .isInstanceOf(ArgumentException.class)
                .hasMessageContaining("values without a name come first");
    }
}
