package io.waybill.api;

import aQute.bnd.differ.DiffPluginImpl;
import aQute.bnd.osgi.Jar;
import aQute.bnd.service.diff.Delta;
import aQute.bnd.service.diff.Tree;
import aQute.bnd.service.diff.Type;
import java.lang.reflect.Method;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * The exported packages of a module as bnd sees them, as text that can be checked in and reviewed: a line for each element,
 * indented by its depth.
 *
 * <pre>
 *     METHOD copy(int)
 *       RETURN void
 *   INTERFACE io.waybill.api.handler.Outbox [MAJOR MAJOR]
 * </pre>
 *
 * The brackets say what adding and removing the element means, where it is not [MINOR MAJOR].
 */
final class ApiDescription {

    private static final String USUAL = " [MINOR MAJOR]";

    private ApiDescription() {}

    /** Describes compiled classes with their manifest. */
    static Tree ofClasses(Path classes) throws Exception {
        try (Jar jar = new Jar(classes.toFile())) {
            return new DiffPluginImpl()
                    .deserialize(own(new DiffPluginImpl().tree(jar).get("<api>").serialize()));
        }
    }

    static String format(Tree tree) {
        StringBuilder text = new StringBuilder();
        format(tree.serialize(), "", text);
        return text.toString();
    }

    private static void format(Tree.Data element, String indent, StringBuilder text) {
        String weight = " [" + element.add + " " + element.rem + "]";
        text.append(indent).append(element.type).append(' ').append(element.name);
        text.append(weight.equals(USUAL) ? "" : weight).append('\n');
        for (Tree.Data child : element.children) {
            format(child, indent + "  ", text);
        }
    }

    static Tree parse(String text) throws Exception {
        Deque<String> lines = new ArrayDeque<>(text.lines().toList());
        return new DiffPluginImpl().deserialize(parse(lines, 0));
    }

    private static Tree.Data parse(Deque<String> lines, int depth) {
        String line = lines.removeFirst().strip();
        String weight = line.endsWith("]") && line.contains(" [") ? line.substring(line.lastIndexOf(" [")) : USUAL;
        String element = line.endsWith(weight) ? line.substring(0, line.length() - weight.length()) : line;
        Tree.Data data = new Tree.Data();
        data.type = Type.valueOf(element.substring(0, element.indexOf(' ')));
        data.name = element.substring(element.indexOf(' ') + 1);
        String[] deltas = weight.substring(2, weight.length() - 1).split(" ");
        data.add = Delta.valueOf(deltas[0]);
        data.rem = Delta.valueOf(deltas[1]);
        List<Tree.Data> children = new ArrayList<>();
        while (!lines.isEmpty() && indent(lines.peekFirst()) == depth + 2) {
            children.add(parse(lines, depth + 2));
        }
        data.children = children.toArray(Tree.Data[]::new);
        return data;
    }

    private static int indent(String line) {
        return line.length() - line.stripLeading().length();
    }

    /** Leaves out what the JDK decides, which differs from one JDK to the next: its inherited methods and its annotations. */
    private static Tree.Data own(Tree.Data element) {
        Set<String> inherited = INHERITED;
        element.children = Arrays.stream(element.children == null ? new Tree.Data[0] : element.children)
                .filter(child -> child.type != Type.METHOD || !inherited.contains(child.name))
                .filter(child -> child.type != Type.ANNOTATED || !child.name.startsWith("jdk."))
                .filter(child -> child.type != Type.CLASS_VERSION)
                .sorted(Comparator.comparing((Tree.Data child) -> child.type.name())
                        .thenComparing(child -> child.name))
                .map(ApiDescription::own)
                .toArray(Tree.Data[]::new);
        return element;
    }

    private static final Set<String> INHERITED = inherited(Object.class, Throwable.class, Enum.class, Record.class);

    private static Set<String> inherited(Class<?>... classes) {
        Set<String> methods = new HashSet<>();
        for (Class<?> type : classes) {
            for (Method method : type.getDeclaredMethods()) {
                methods.add(method.getName()
                        + Arrays.stream(method.getParameterTypes())
                                .map(Class::getTypeName)
                                .collect(Collectors.joining(",", "(", ")")));
            }
        }
        return methods;
    }
}
