package io.waybill.script;

import io.waybill.api.Script;
import io.waybill.api.handler.MessageHandler;
import io.waybill.script.source.ScriptRefusedException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** A script of a test, compiled as a node does it. */
public final class ServedScript implements AutoCloseable {

    private final CompiledScript script;
    private final MessageHandler handler;

    private record Source(Path file) implements Script {

        @Override
        public String module() {
            return file.getFileName().toString().replace(".py", "");
        }

        @Override
        public Form form() {
            return Form.SOURCE;
        }

        @Override
        public String origin() {
            return file.toString();
        }

        @Override
        public int ranking() {
            return 0;
        }

        @Override
        public void accepted(List<String> functions) {}

        @Override
        public void refused(String why) {
            throw new AssertionError(why);
        }
    }

    /** Compiles a script, whose module is the file's name without {@code .py}. */
    public ServedScript(ScriptEngine engine, Path file, String text) throws IOException, ScriptRefusedException {
        this.script = CompiledScript.of(new Source(Files.writeString(file, text)));
        engine.functions().add(script);
        this.handler = new FunctionCall(engine, script);
    }

    /** Returns the handler of its functions. */
    public MessageHandler handler() {
        return handler;
    }

    @Override
    public void close() {
        script.close();
    }
}
