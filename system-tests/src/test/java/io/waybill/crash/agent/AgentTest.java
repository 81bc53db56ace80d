package io.waybill.crash.agent;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import io.waybill.crash.history.Problem;
import java.io.IOException;
import java.io.InputStream;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

@Timeout(60)
class AgentTest {

    private static final JavaClasses CLASSES = new ClassFileImporter()
            .withImportOption(location -> !location.contains("/test-classes/") && !location.contains("-tests.jar"))
            .importPackages("io.waybill");

    @ParameterizedTest
    @EnumSource
    void findsThePlaceOfEachPoint(Point point) throws IOException {
        change(point.changes());
    }

    @ParameterizedTest
    @EnumSource
    void findsThePlaceOfEachBug(Mutant mutant) throws IOException {
        change(mutant.changes());
        assertThat(Problem.Kind.valueOf(mutant.caughtAs())).isNotNull();
    }

    @Test
    void saysThatAPlaceIsNotThere() {
        assertThatThrownBy(() -> change(List.of(Change.entry("Journal", "noSuchMethod"))))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("noSuchMethod");
    }

    private static void change(List<Change> changes) throws IOException {
        for (Change change : changes) {
            String owner = className(change);
            byte[] original = classFile(owner);
            assertThat(Rewriting.apply(original, owner, changes)).isNotEqualTo(original);
        }
    }

    private static String className(Change change) {
        if (change.owner().startsWith("net/")) {
            return change.owner();
        }
        List<String> found = CLASSES.stream()
                .map(type -> type.getName().replace('.', '/'))
                .filter(change::isIn)
                .toList();
        assertThat(found).as("classes that %s means", change).hasSize(1);
        return found.get(0);
    }

    private static byte[] classFile(String name) throws IOException {
        try (InputStream in = AgentTest.class.getClassLoader().getResourceAsStream(name + ".class")) {
            return in.readAllBytes();
        }
    }
}
