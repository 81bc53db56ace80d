package io.waybill.script.source;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Collections;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.zip.ZipEntry;
import java.util.zip.ZipException;
import java.util.zip.ZipFile;

/**
 * Detects calls of other workers in saved modules. {@code torch.jit.save} writes them without their arguments: PyTorch
 * and libtorch can't load such a module, or it can't call a worker.
 *
 * <p><b>Threads.</b> Any.
 */
public final class SavedCalls {

    private static final Pattern CALL = Pattern.compile("\\bops\\.prim\\.(rpc_(?:sync|async|remote))\\(");
    private static final Pattern METHOD = Pattern.compile("^ *def (\\w+)\\(", Pattern.MULTILINE);
    private static final Pattern CODE = Pattern.compile("[^/]+/(code/.*\\.py)");

    private SavedCalls() {}

    /**
     * Refuses a module with such a call.
     *
     * @throws ScriptRefusedException with the method
     * @throws IOException if the code can't be read
     */
    public static void requireNone(Path file) throws IOException, ScriptRefusedException {
        try (ZipFile archive = new ZipFile(file.toFile())) {
            for (ZipEntry entry : Collections.list(archive.entries())) {
                Matcher code = CODE.matcher(entry.getName());
                if (code.matches()) {
                    try (InputStream in = archive.getInputStream(entry)) {
                        requireNone(code.group(1), new String(in.readAllBytes(), StandardCharsets.UTF_8));
                    }
                }
            }
        } catch (ZipException e) {
            return; // no archive: libtorch reports the error
        }
    }

    private static void requireNone(String path, String code) throws ScriptRefusedException {
        Matcher call = CALL.matcher(code);
        if (!call.find()) {
            return;
        }
        String method = "a function";
        Matcher found = METHOD.matcher(code).region(0, call.start());
        while (found.find()) {
            method = found.group(1);
        }
        throw new ScriptRefusedException(
                method + " calls another worker: torch.jit.save has written " + call.group(1) + " in " + path
                        + " without its arguments, and PyTorch can't load such a file either; serve the function from a .py");
    }
}
