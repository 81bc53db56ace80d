package io.waybill.distribution;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.TreeSet;
import java.util.jar.JarFile;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The distribution carries licences, and its NOTICE and SBOM name each file that comes from another project. */
@Timeout(60)
class NoticeIT {

    private static final Path DISTRIBUTION = Path.of(System.getProperty("waybill.test.distribution"));
    private static final Pattern VERSION = Pattern.compile("-\\d[^/]*\\.jar$");

    @Test
    void namesEachFileOfAnotherProject() throws IOException {
        assertThat(named("lib")).isEqualTo(foreign("lib", 1));
        assertThat(named("lib/native")).isEqualTo(foreign("lib/native", 1));
        TreeSet<String> bundles = foreign("bundles", 2);
        bundles.addAll(List.of("http", "metrics", "torch-runtime")); // our own, with classes of others
        assertThat(named("bundles")).isEqualTo(bundles);
        TreeSet<String> optional = foreign("optional", 1);
        optional.add("cuda-runtime"); // ours, with classes and a library of others
        assertThat(named("optional")).isEqualTo(optional);
    }

    @Test
    void hasTheTextsThatItsNoticeNames() throws IOException {
        List<String> texts = Pattern.compile("licenses/[A-Za-z0-9.-]+\\.txt")
                .matcher(Files.readString(DISTRIBUTION.resolve("NOTICE")))
                .results()
                .map(found -> found.group())
                .distinct()
                .toList();
        assertThat(texts).isNotEmpty().allMatch(text -> Files.isRegularFile(DISTRIBUTION.resolve(text)));
    }

    @Test
    void carriesTheLicenceInEachJarOfItsOwn() throws IOException {
        String license = Files.readString(DISTRIBUTION.resolve("LICENSE"));
        List<Path> own = files("lib", 1).filter(NoticeIT::isOwn).toList();
        assertThat(own).hasSizeGreaterThan(3);
        for (Path jar : own) {
            assertThat(entry(jar, "META-INF/LICENSE")).as(jar.toString()).isEqualTo(license);
        }
    }

    @Test
    void saysInTheOneJarThatIsModifiedThatItIs() throws IOException {
        List<String> modified = files("lib", 1)
                .filter(file -> file.toString().endsWith(".jar"))
                .filter(jar -> !entry(jar, RewrittenJar.NOTE).isEmpty())
                .map(NoticeIT::name)
                .toList();
        assertThat(modified).containsExactly("picocli");
        assertThat(Files.readString(DISTRIBUTION.resolve("NOTICE"))).contains("unmodified but for picocli");
    }

    @Test
    void listsEachLibraryInItsBillOfMaterials() throws IOException {
        Path file = DISTRIBUTION.resolve("sbom.json");
        assumeFalse(
                "offline=true".equals(System.getProperty("waybill.test.maven")) && Files.notExists(file),
                "there is no bill of materials: CycloneDX makes none while Maven is offline");
        String sbom = Files.readString(file);
        List<String> libraries = files("lib", 1).map(NoticeIT::name).toList();
        assertThat(libraries).allMatch(library -> sbom.contains("\"name\" : \"" + library + "\""));
    }

    /** The names of a section of NOTICE: its indented lines, up to an empty one. */
    private static TreeSet<String> named(String section) throws IOException {
        List<String> lines = Files.readAllLines(DISTRIBUTION.resolve("NOTICE"));
        TreeSet<String> names = new TreeSet<>();
        for (String line : lines.subList(lines.indexOf(section) + 1, lines.size())) {
            if (line.isEmpty()) {
                break;
            }
            names.add(line.strip().replaceFirst("\\s.*", ""));
        }
        return names;
    }

    private static TreeSet<String> foreign(String folder, int depth) throws IOException {
        return files(folder, depth)
                .filter(file -> !isOwn(file))
                .map(NoticeIT::name)
                .collect(TreeSet::new, TreeSet::add, TreeSet::addAll);
    }

    private static Stream<Path> files(String folder, int depth) throws IOException {
        try (Stream<Path> files = Files.walk(DISTRIBUTION.resolve(folder), depth)) {
            return files.filter(Files::isRegularFile).toList().stream();
        }
    }

    private static boolean isOwn(Path file) {
        return file.toString().endsWith(".jar")
                && entry(file, "META-INF/NOTICE").startsWith("Waybill\n");
    }

    private static String name(Path file) {
        return VERSION.matcher(file.getFileName().toString()).replaceFirst("");
    }

    private static String entry(Path jar, String name) {
        try (JarFile file = new JarFile(jar.toFile())) {
            ZipEntry entry = file.getEntry(name);
            if (entry == null) {
                return "";
            }
            try (InputStream in = file.getInputStream(entry)) {
                return new String(in.readAllBytes(), StandardCharsets.UTF_8);
            }
        } catch (IOException e) {
            throw new IllegalStateException("can't read " + jar, e);
        }
    }
}
