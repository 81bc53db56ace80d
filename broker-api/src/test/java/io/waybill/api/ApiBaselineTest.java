package io.waybill.api;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.fail;

import aQute.bnd.service.diff.Delta;
import aQute.bnd.service.diff.Diff;
import aQute.bnd.service.diff.Tree;
import aQute.bnd.service.diff.Type;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What bundles compile against is what {@code api.txt} says: a change of it is deliberate. */
@Timeout(60)
class ApiBaselineTest {

    private static final Path BASELINE = Path.of("api.txt");
    private static final String ACCEPT = "waybill.api.accept";

    @Test
    void changesOnlyDeliberately() throws Exception {
        Tree now = ApiDescription.ofClasses(Path.of("target/classes"));
        if (Boolean.getBoolean(ACCEPT)) {
            Files.writeString(BASELINE, ApiDescription.format(now));
        }
        Diff diff = now.diff(ApiDescription.parse(Files.readString(BASELINE)));
        List<String> changes = changes(diff, "");
        if (!changes.isEmpty()) {
            fail(
                    "%n%s%n%nbroker-api is not what broker-api/%s says. This is %s.%nIf it is intended, run%n    mvn -q -pl broker-api test"
                            + " -Dtest=ApiBaselineTest -D%s=true%nand commit the file with the change, and with a line in"
                            + " CHANGELOG.md (docs/adr/0046-api-baseline.md).",
                    String.join(System.lineSeparator(), changes), BASELINE, consequence(diff.getDelta()), ACCEPT);
        }
    }

    @Test
    void readsWhatItWrites() throws Exception {
        String text = ApiDescription.format(ApiDescription.ofClasses(Path.of("target/classes")));
        assertThat(ApiDescription.format(ApiDescription.parse(text))).isEqualTo(text);
    }

    private static String consequence(Delta delta) {
        return switch (delta) {
            case MAJOR, REMOVED ->
                "INCOMPATIBLE: bundles built for the baseline may fail; from 1.0 on the package's major version rises";
            case MINOR, ADDED -> "compatible: bundles built for the baseline work; the package's minor version rises";
            default -> "a change that no bundle notices; the package's micro version rises";
        };
    }

    /** One line for each member that differs. */
    private static List<String> changes(Diff diff, String path) {
        List<String> changes = new ArrayList<>();
        Delta delta = diff.getDelta();
        if (delta == Delta.UNCHANGED || delta == Delta.IGNORED) {
            return changes;
        }
        String here = path.isEmpty() ? diff.getName() : path + " " + diff.getName();
        boolean isContainer = diff.getType() == Type.API || diff.getType() == Type.PACKAGE;
        boolean whole = delta == Delta.ADDED || delta == Delta.REMOVED;
        if (!whole) {
            for (Diff child : diff.getChildren()) {
                changes.addAll(changes(child, isContainer ? "" : here));
            }
        }
        if (changes.isEmpty()) {
            changes.add("  " + delta + " " + diff.getType() + " " + here);
        }
        return changes;
    }
}
