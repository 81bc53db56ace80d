package io.waybill;

import com.sun.source.tree.ClassTree;
import com.sun.source.tree.CompilationUnitTree;
import com.sun.source.tree.MethodTree;
import com.sun.source.tree.Tree;
import com.sun.source.util.JavacTask;
import com.sun.source.util.TreePath;
import com.sun.source.util.TreePathScanner;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.tools.JavaCompiler;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;

/** Sizes of the main sources: lines of files, types of packages, parameters of methods and constructors. Immutable. */
final class SourceSizes {

    private static final String MAIN = "/src/main/java/";

    private final List<Sized> files;
    private final List<Sized> packages;
    private final List<Sized> methods;

    /**
     * A file, package, method or constructor, and its size.
     *
     * @param path of the file, relative to the repository; of the directory, for a package
     */
    record Sized(String name, String path, int size) {

        @Override
        public String toString() {
            return name + " has " + size;
        }
    }

    private SourceSizes(List<Sized> files, List<Sized> packages, List<Sized> methods) {
        this.files = files;
        this.packages = packages;
        this.methods = methods;
    }

    /** Measures all main sources, without the descriptions of packages. */
    static SourceSizes of(Path root) throws IOException {
        List<Path> sources = Repository.files(root, ".java").stream()
                .filter(file -> file.toString().contains(MAIN) && !file.endsWith("package-info.java"))
                .toList();
        List<Sized> files = sources.stream()
                .map(file -> new Sized(named(file.getFileName().toString()), in(root, file), lines(file)))
                .toList();
        Map<String, List<Path>> inPackage = sources.stream()
                .collect(Collectors.groupingBy(SourceSizes::packageOf, TreeMap::new, Collectors.toList()));
        List<Sized> packages = new ArrayList<>();
        inPackage.forEach((name, types) ->
                packages.add(new Sized(name, in(root, types.get(0).getParent()), types.size())));
        return new SourceSizes(files, packages, methods(root, sources));
    }

    /** Returns the files and their lines. */
    List<Sized> files() {
        return files;
    }

    /** Returns the packages and the number of their files. */
    List<Sized> packages() {
        return packages;
    }

    /**
     * Returns the methods and constructors, and the number of their parameters. Without the constructors of records, which are data, and methods
     * that override another one, which decides.
     */
    List<Sized> methods() {
        return methods;
    }

    private static List<Sized> methods(Path root, List<Path> sources) throws IOException {
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        List<Sized> found = new ArrayList<>();
        try (StandardJavaFileManager manager = compiler.getStandardFileManager(null, null, StandardCharsets.UTF_8)) {
            JavacTask task = (JavacTask) compiler.getTask(
                    null, manager, null, List.of("-proc:none"), null, manager.getJavaFileObjectsFromPaths(sources));
            for (CompilationUnitTree unit : task.parse()) {
                new Methods(in(root, Path.of(unit.getSourceFile().toUri())), found).scan(unit, null);
            }
        }
        return List.copyOf(found);
    }

    private static String packageOf(Path file) {
        String directory = file.getParent().toString();
        return directory.substring(directory.indexOf(MAIN) + MAIN.length()).replace('/', '.');
    }

    private static String named(String file) {
        return file.substring(0, file.length() - ".java".length());
    }

    private static String in(Path root, Path path) {
        return root.relativize(path).toString();
    }

    private static int lines(Path file) {
        try (Stream<String> lines = Files.lines(file)) {
            return (int) lines.count();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Adds the methods and constructors of one file. */
    private static final class Methods extends TreePathScanner<Void, Void> {

        private final String path;
        private final List<Sized> found;

        Methods(String path, List<Sized> found) {
            this.path = path;
            this.found = found;
        }

        @Override
        public Void visitMethod(MethodTree method, Void none) {
            TreePath around = getCurrentPath().getParentPath();
            ClassTree type = (ClassTree) around.getLeaf();
            boolean constructs = method.getReturnType() == null;
            boolean ofRecord = constructs && type.getKind() == Tree.Kind.RECORD;
            if (!ofRecord && !overrides(method)) {
                String name = constructs ? "(constructor)" : method.getName().toString();
                found.add(new Sized(
                        typeName(around) + "." + name,
                        path,
                        method.getParameters().size()));
            }
            return super.visitMethod(method, none);
        }

        private static boolean overrides(MethodTree method) {
            return method.getModifiers().getAnnotations().stream()
                    .anyMatch(annotation ->
                            annotation.getAnnotationType().toString().equals("Override"));
        }

        private static String typeName(TreePath path) {
            String name = "";
            for (TreePath each = path; each != null; each = each.getParentPath()) {
                if (each.getLeaf() instanceof ClassTree type) {
                    String simple = type.getSimpleName().toString();
                    name = (simple.isEmpty() ? "(anonymous)" : simple) + (name.isEmpty() ? "" : "." + name);
                }
            }
            return name;
        }
    }
}
