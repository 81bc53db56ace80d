package io.waybill;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Runs the Python client's own tests, and installs it as users do. Skipped where {@code python3} is missing or older than 3.8. */
class PythonClientTest {

    private static final Path CLIENT = Repository.root().resolve("clients").resolve("python");

    @TempDir
    Path directory;

    @Test
    @Timeout(value = 10, unit = TimeUnit.MINUTES)
    void passesItsOwnTests() throws Exception {
        assumePython();

        List<String> output = new ArrayList<>();
        int exit = run(output, CLIENT, "python3", "-B", "-m", "unittest", "discover", "-t", ".", "-s", "tests");

        assertThat(exit).as(failures(output)).isZero();
    }

    /** The output of unittest from the first failure on: a summary of the build shows its beginning alone. */
    private static String failures(List<String> output) {
        int first = 0;
        while (first < output.size() && !output.get(first).matches("(FAIL|ERROR): .*")) {
            first++;
        }
        return String.join("\n", output.subList(first < output.size() ? first : 0, output.size()));
    }

    @Test
    @Timeout(value = 10, unit = TimeUnit.MINUTES)
    void isInstalledWithoutANetwork() throws Exception {
        assumePython();
        assumeTrue(run(new ArrayList<>(), directory, "python3", "-m", "pip", "--version") == 0, "python3 has no pip");
        Path installed = directory.resolve("installed");

        List<String> output = new ArrayList<>();
        int exit = run(
                output,
                directory,
                "python3",
                "-m",
                "pip",
                "--disable-pip-version-check",
                "install",
                "--no-index",
                "--no-cache-dir",
                "--target",
                installed.toString(),
                CLIENT.toString());

        assertThat(exit).as(String.join("\n", output)).isZero();
        assertThat(installed.resolve("waybill").resolve("rpc").resolve("api.py"))
                .exists();
        assertThat(run(output, installed, "python3", "-c", "import waybill.rpc, waybill.pool"))
                .as(String.join("\n", output))
                .isZero();
    }

    private void assumePython() throws Exception {
        String probe = "import sys; sys.exit(sys.version_info < (3, 8))";
        assumeTrue(run(new ArrayList<>(), directory, "python3", "-c", probe) == 0, "no python3 of 3.8 or newer");
    }

    private int run(List<String> output, Path in, String... command) throws Exception {
        Path log = Files.createTempFile(directory, "python", ".log");
        ProcessBuilder builder =
                new ProcessBuilder(command).directory(in.toFile()).redirectErrorStream(true);
        builder.redirectOutput(log.toFile()).redirectInput(new File("/dev/null"));
        Process process;
        try {
            process = builder.start();
        } catch (IOException e) {
            output.add(e.toString());
            return -1;
        }
        try {
            int exit = process.waitFor();
            output.addAll(Files.readAllLines(log));
            return exit;
        } finally {
            process.destroyForcibly();
        }
    }
}
