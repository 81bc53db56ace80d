package io.waybill.cli.conformance.format;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * A file of cases.
 *
 * @param workers that its cases share, by name
 * @param scripts that every node serves: text by the name of the file; of those that {@link #isModule} takes for modules, the code
 */
public record CaseFile(Path path, Map<String, WorkerPlan> workers, Map<String, String> scripts, List<Case> cases) {

    /** The version of the format. */
    public static final int FORMAT = 1;

    private static final Pattern SCRIPT = Pattern.compile("[A-Za-z_][A-Za-z0-9_]{0,63}\\.p[yt]");
    private static final int MAX_WORKERS = 64;
    private static final Set<String> KNOWN = Set.of("format", "about", "source", "workers", "scripts", "cases");

    /** Reads and checks a file; every failure names it. */
    public static CaseFile read(Path path) throws IOException, FormatException {
        Datum datum = DatumReader.read(path);
        try {
            Fields fields = Fields.of("a file of cases", datum).only(KNOWN);
            fields.require("format");
            fields.whole("format", FORMAT, FORMAT, FORMAT);
            Map<String, WorkerPlan> workers = Case.workers(fields, 0);
            if (workers.size() > MAX_WORKERS) {
                throw new FormatException("a file has at most " + MAX_WORKERS + " workers, not " + workers.size());
            }
            return new CaseFile(path, workers, scripts(fields), cases(fields, workers));
        } catch (FormatException e) {
            throw e.at(path.toString());
        }
    }

    /** Texts, or arrays of lines. */
    private static Map<String, String> scripts(Fields fields) throws FormatException {
        Map<String, String> scripts = new LinkedHashMap<>();
        Fields files = Fields.of("scripts", fields.find("scripts").orElse(Datum.Record.EMPTY));
        for (String name : files.names()) {
            if (!SCRIPT.matcher(name).matches()) {
                throw new FormatException("a script is named like module.py or module.pt, not " + name);
            }
            scripts.put(
                    name,
                    files.require(name) instanceof Datum.Text text
                            ? text.value()
                            : String.join("\n", files.texts(name)) + "\n");
        }
        return scripts;
    }

    /** Whether a script is to become a saved module, of which its text is the code. */
    public static boolean isModule(String script) {
        return script.endsWith(".pt");
    }

    private static List<Case> cases(Fields fields, Map<String, WorkerPlan> workers) throws FormatException {
        List<Case> cases = new ArrayList<>();
        Set<String> names = new HashSet<>();
        for (Datum datum : fields.row("cases")) {
            Case found;
            try {
                found = Case.of(datum, workers);
            } catch (FormatException e) {
                throw e.at("case " + (cases.size() + 1));
            }
            if (!names.add(found.name())) {
                throw new FormatException("two cases are called '" + found.name() + "'");
            }
            cases.add(found);
        }
        return cases;
    }
}
