package io.waybill.bench.measure;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * A Python with PyTorch, which some measurements run beside Waybill where there is one.
 *
 * @param python its command
 */
public record Torch(String python) {

    /** Returns the Python that has PyTorch, {@code python3} or {@code /usr/bin/python3}, or null if neither has. */
    public static Torch find() throws IOException {
        for (String python : List.of("python3", "/usr/bin/python3")) {
            if (imports(python)) {
                return new Torch(python);
            }
        }
        return null;
    }

    private static boolean imports(String python) throws IOException {
        try {
            Process process = new ProcessBuilder(python, "-c", "import torch.distributed.rpc")
                    .redirectError(ProcessBuilder.Redirect.DISCARD)
                    .start();
            try {
                return process.waitFor() == 0;
            } finally {
                process.destroyForcibly();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("interrupted while " + python + " looked for PyTorch", e);
        } catch (IOException e) {
            return false; // there is none
        }
    }

    /** Runs a script of this package with a free port and these arguments, and returns the last line that it prints. */
    public Figures run(String script, Object... arguments) throws IOException {
        return run(script, Map.of(), arguments);
    }

    /** Runs a script with these variables in its environment. */
    public Figures run(String script, Map<String, String> environment, Object... arguments) throws IOException {
        Path directory = Files.createTempDirectory("waybill-bench");
        Path file = directory.resolve(script);
        Path errors = directory.resolve("errors");
        try (InputStream text = Torch.class.getResourceAsStream(script)) {
            Files.copy(text, file);
            List<String> command = new ArrayList<>(List.of(python, file.toString(), Integer.toString(freePort())));
            for (Object argument : arguments) {
                command.add(argument.toString());
            }
            ProcessBuilder builder = new ProcessBuilder(command).redirectError(errors.toFile());
            builder.environment().putAll(environment);
            Process process = builder.start();
            Thread ending = new Thread(() -> end(process), "waybill-bench-end");
            Runtime.getRuntime().addShutdownHook(ending); // this process may be ended while that one runs
            try (BufferedReader output =
                    new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
                String last = null;
                for (String line = output.readLine(); line != null; line = output.readLine()) {
                    last = line;
                }
                if (last == null) {
                    throw new IOException(
                            script + " ended without its figures under " + python + ": " + lastLine(errors));
                }
                return Figures.parse(last);
            } finally {
                end(process);
                removeHook(ending);
            }
        } finally {
            Files.deleteIfExists(file);
            Files.deleteIfExists(errors);
            Files.delete(directory);
        }
    }

    private static void end(Process process) {
        process.descendants().forEach(ProcessHandle::destroyForcibly);
        process.destroyForcibly();
    }

    private static void removeHook(Thread hook) {
        try {
            Runtime.getRuntime().removeShutdownHook(hook);
        } catch (IllegalStateException e) {
            // it runs
        }
    }

    private static String lastLine(Path file) throws IOException {
        List<String> lines = new String(Files.readAllBytes(file), StandardCharsets.UTF_8)
                .lines()
                .filter(line -> !line.isBlank())
                .toList();
        return lines.isEmpty() ? "it said nothing" : lines.get(lines.size() - 1);
    }

    private static int freePort() throws IOException {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return socket.getLocalPort();
        }
    }
}
