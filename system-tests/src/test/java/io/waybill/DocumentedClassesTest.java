package io.waybill;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The book names classes that exist, so a rename or a move takes the pages along or fails here. */
@Timeout(60)
class DocumentedClassesTest {

    /** A top-level class of this project with its package; the package alone is no match. */
    private static final Pattern CLASS = Pattern.compile("\\bio\\.waybill(?:\\.[a-z]\\w*)*\\.([A-Z]\\w*)");

    private static final Pattern SOURCE = Pattern.compile("(?:.*/)?src/(?:main|test)/java/(io/waybill/.*)\\.java");

    private final Path root = Repository.root();
    private final Set<String> classes = classes(root);

    @Test
    void existWhereThePagesSay() throws IOException {
        List<String> wrong = new ArrayList<>();
        int named = 0;
        for (Path page : Repository.pages(root)) {
            String text = Files.readString(page);
            named += (int) CLASS.matcher(text).results().count();
            unknown(text).forEach(name -> wrong.add(root.relativize(page) + " names " + name));
        }
        assertThat(wrong).isEmpty();
        assertThat(named).isGreaterThan(80);
    }

    @Test
    void areMissedWhenTheyAreGoneOrMoved() {
        assertThat(unknown("`io.waybill.Repository` and `io.waybill.Depository`"))
                .containsExactly("io.waybill.Depository, a class that does not exist");
        assertThat(unknown("`io.waybill.home.Repository`"))
                .containsExactly("io.waybill.home.Repository, which is io.waybill.Repository");
        assertThat(unknown("the package `io.waybill.journal`")).isEmpty();
    }

    /** The classes in a text that do not exist under these names, and where a class of the same simple name is. */
    private List<String> unknown(String text) {
        List<String> unknown = new ArrayList<>();
        Matcher name = CLASS.matcher(text);
        while (name.find()) {
            if (!classes.contains(name.group())) {
                String now = classes.stream()
                        .filter(each -> each.endsWith("." + name.group(1)))
                        .sorted()
                        .collect(Collectors.joining(" or "));
                unknown.add(name.group() + (now.isEmpty() ? ", a class that does not exist" : ", which is " + now));
            }
        }
        return unknown;
    }

    /** The top-level classes in the sources of all modules, tests included. */
    private static Set<String> classes(Path root) {
        return Repository.files(root, ".java").stream()
                .map(file -> SOURCE.matcher(root.relativize(file).toString()))
                .filter(Matcher::matches)
                .map(source -> source.group(1).replace('/', '.'))
                .collect(Collectors.toSet());
    }
}
