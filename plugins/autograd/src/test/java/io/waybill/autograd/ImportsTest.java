package io.waybill.autograd;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.jar.Manifest;
import org.junit.jupiter.api.Test;

/** What the bundle needs of others: the extension API, and libtorch with its service. */
class ImportsTest {

    @Test
    void areTheApiAndTorchAlone() throws Exception {
        Path classes = Path.of(Autograd.class
                .getProtectionDomain()
                .getCodeSource()
                .getLocation()
                .toURI());
        String imported;
        try (InputStream in = Files.newInputStream(classes.resolve("META-INF/MANIFEST.MF"))) {
            imported = new Manifest(in).getMainAttributes().getValue("Import-Package");
        }
        String[] packages = imported.replaceAll(";[^,\"]*(\"[^\"]*\")?", "").split(",");
        assertThat(Arrays.stream(packages).filter(name -> !name.startsWith("java.")))
                .contains("io.waybill.api", "io.waybill.torch")
                .allMatch(
                        name -> name.matches("io\\.waybill\\.(api|torch|autograd)(\\..*)?|org\\.bytedeco\\..*"),
                        "a package of the API, of torch-runtime, or of this bundle");
    }
}
