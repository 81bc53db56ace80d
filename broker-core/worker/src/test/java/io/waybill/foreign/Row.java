package io.waybill.foreign;

import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.Set;
import java.util.stream.Stream;

/**
 * One row of the table: an extension point, a method of it, and what it does instead.
 *
 * @param on the extension point
 */
public record Row(Class<?> on, String method, Misbehaviour how) {

    @Override
    public String toString() {
        return on.getSimpleName() + "." + method + ": " + how;
    }

    /** Returns all rows of an extension point: each of its methods with each misbehaviour that makes sense for it. */
    public static Stream<Row> of(Class<?> extensionPoint) {
        return Arrays.stream(extensionPoint.getMethods())
                .filter(method -> Modifier.isAbstract(method.getModifiers()) || method.isDefault())
                .flatMap(method -> ways(method).stream().map(how -> new Row(extensionPoint, method.getName(), how)));
    }

    /** Returns null where there is something to return, and uses what was given where that is an object of the broker's. */
    static Set<Misbehaviour> ways(Method method) {
        Set<Misbehaviour> ways =
                EnumSet.of(Misbehaviour.EXCEPTION, Misbehaviour.ERROR, Misbehaviour.UNREADABLE, Misbehaviour.HANG);
        if (!method.getReturnType().isPrimitive()) {
            ways.add(Misbehaviour.NULL);
        }
        boolean isGivenObjects = Arrays.stream(method.getParameterTypes())
                .anyMatch(type -> type.isInterface() && type.getName().startsWith("io.waybill.api."));
        if (isGivenObjects) {
            ways.add(Misbehaviour.RELEASES_TWICE);
            ways.add(Misbehaviour.CALLS_AFTER_END);
        }
        return ways;
    }
}
