package io.waybill.conformance.cases;

import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * A file of cases.
 *
 * @param about for people
 * @param source for people
 * @param workers that its cases share, by name: a {@link WorkerSpec} each
 * @param scripts that every node serves: a text or an array of lines, by the name of the file
 */
public record CaseFile(
        @JsonProperty(required = true) int format,
        String about,
        String source,
        Map<String, JsonNode> workers,
        Map<String, JsonNode> scripts,
        List<ConformanceCase> cases) {

    /** The version of the format. */
    public static final int FORMAT = 1;

    private static final Pattern SCRIPT = Pattern.compile("[A-Za-z_][A-Za-z0-9_]{0,63}\\.p[yt]");
    private static final int MAX_WORKERS = 64;

    /**
     * Reads and checks a file.
     *
     * @throws CaseFormatException names the file and the place in it
     */
    public static CaseFile read(Path path) throws IOException {
        try {
            CaseFile file = CaseJson.read(path, CaseFile.class);
            file.check();
            return file;
        } catch (CaseFormatException e) {
            throw e.at(path.toString());
        }
    }

    private void check() {
        require(format == FORMAT, "format must be " + FORMAT + ", not " + format);
        require(workers.size() <= MAX_WORKERS, "a file has at most " + MAX_WORKERS + " workers, not " + workers.size());
        workers.forEach(WorkerSpec::of);
        for (String name : scripts.keySet()) {
            require(SCRIPT.matcher(name).matches(), "a script is named like module.py or module.pt, not " + name);
        }
        Set<String> names = new HashSet<>();
        for (ConformanceCase each : cases) {
            require(names.add(each.name()), "two cases are called '" + each.name() + "'");
            each.check(workers.keySet());
        }
    }

    static void require(boolean holds, String otherwise) {
        if (!holds) {
            throw new CaseFormatException(otherwise);
        }
    }

    /** The text of a script. */
    public String script(String name) {
        JsonNode text = scripts.get(name);
        return text.isTextual() ? text.textValue() : String.join("\n", CaseJson.convert(text, String[].class)) + "\n";
    }
}
