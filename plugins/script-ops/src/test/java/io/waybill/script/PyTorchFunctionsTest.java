package io.waybill.script;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.Invocation;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Value;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Functions that PyTorch's {@code torch.jit.script} takes, with the results that it has, from sources and from one
 * saved module. {@code src/test/python/functions.py} writes the cases.
 */
@Timeout(value = 2, unit = TimeUnit.MINUTES)
class PyTorchFunctionsTest {

    private static final ScriptEngine ENGINE = new Calls().engine;

    @TempDir
    private Path directory;

    private static Path resource(String name) throws URISyntaxException {
        return Path.of(
                PyTorchFunctionsTest.class.getResource("functions/" + name).toURI());
    }

    private static List<String[]> cases() throws Exception {
        return Files.readAllLines(resource("cases.txt")).stream()
                .map(line -> line.split(" # ", -1))
                .toList();
    }

    @Test
    void servesThemFromSources() throws Exception {
        List<String> wrong = new ArrayList<>();
        for (String module : new TreeSet<>(
                cases().stream().map(row -> row[0].split("\\.")[0]).toList())) {
            Path copy = Files.copy(resource(module + ".py"), directory.resolve(module + ".py"));
            try (CompiledScript script = CompiledScript.of(new ScriptFile(copy, 0))) {
                script.refusals().forEach((name, why) -> wrong.add(module + "." + name + " is refused: " + why));
                ENGINE.functions().add(script);
                for (String[] row : cases()) {
                    if (row[0].startsWith(module + ".") && !script.refusals().containsKey(row[0].split("\\.")[1])) {
                        check(row[0], row, wrong);
                    }
                }
                ENGINE.functions().remove(script);
            }
        }
        assertThat(wrong).as("of " + cases().size() + " functions").isEmpty();
    }

    @Test
    void servesThemFromASavedModule() throws Exception {
        Path copy = Files.copy(resource("functions.pt"), directory.resolve("functions.pt"));
        List<String> wrong = new ArrayList<>();
        try (CompiledScript script = CompiledScript.of(new ScriptFile(copy, 0))) {
            ENGINE.functions().add(script);
            for (String[] row : cases()) {
                check("functions." + row[0].replace('.', '_'), row, wrong);
            }
            ENGINE.functions().remove(script);
        }
        assertThat(wrong).as("of " + cases().size() + " functions").isEmpty();
    }

    private static void check(String name, String[] row, List<String> wrong) {
        String result;
        try {
            result = ValueText.of(run(name, row[1]));
        } catch (RejectedMessageException e) {
            String[] lines = e.getMessage().strip().split("\n");
            result = row[2].startsWith("! ") ? "! " + lines[lines.length - 1] : e.getMessage();
        } catch (RuntimeException e) {
            result = e.toString();
        }
        if (!ValueText.isNear(result, row[2])) {
            wrong.add(name + " gave " + result + " and not " + row[2]);
        }
    }

    private static Value run(String name, String arguments) throws RejectedMessageException {
        List<Value> positional = new ArrayList<>();
        Map<String, Value> named = new LinkedHashMap<>();
        for (String argument : arguments.split(" \\| ")) {
            if (argument.matches("\\w+=.*")) {
                named.put(argument.split("=")[0], ValueText.parse(argument.split("=", 2)[1]));
            } else {
                positional.add(ValueText.parse(argument));
            }
        }
        Invocation call = new Invocation(name, positional, named);
        return ENGINE.run(ENGINE.functions().find(name), call, ScriptCalls.none());
    }
}
