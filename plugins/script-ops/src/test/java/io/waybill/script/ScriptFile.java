package io.waybill.script;

import io.waybill.api.Script;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** A script in a file of a test, and what became of it. */
final class ScriptFile implements Script {

    private final Path file;
    private final int ranking;
    volatile List<String> schemas = List.of();
    volatile String problem = "";

    ScriptFile(Path file, int ranking) {
        this.file = file;
        this.ranking = ranking;
    }

    static ScriptFile source(Path directory, String module, String text) throws IOException {
        return new ScriptFile(Files.writeString(directory.resolve(module + ".py"), text), 0);
    }

    @Override
    public String module() {
        return file.getFileName().toString().replaceAll("\\.p[ty]$", "");
    }

    @Override
    public Form form() {
        return file.toString().endsWith(".py") ? Form.SOURCE : Form.MODULE;
    }

    @Override
    public Path file() {
        return file;
    }

    @Override
    public String origin() {
        return file.toString();
    }

    @Override
    public int ranking() {
        return ranking;
    }

    @Override
    public void accepted(List<String> functions) {
        schemas = functions;
    }

    @Override
    public void refused(String why) {
        problem = why;
    }
}
